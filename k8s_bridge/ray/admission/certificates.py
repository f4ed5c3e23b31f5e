"""The webhook's certificate: it vouches for itself, and is renewed long before it ends."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LIFE = timedelta(days=90)
_SKEW = timedelta(hours=1)
"""Clocks may be that far apart."""
_RENEW_AT = 2 / 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A certificate and its key, as PEM."""

    certificate: str
    key: str


def issue(host: str, *, now: datetime) -> Pair:
    """A new certificate for a server called `host`."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ray-bridge-webhook")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + LIFE)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    text = certificate.public_bytes(serialization.Encoding.PEM).decode()
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Pair(certificate=text, key=secret.decode())


def is_due(pair: Pair, host: str, *, now: datetime) -> bool:
    """Whether another one is needed: nearly over, for another host, or not to be read."""
    try:
        certificate = x509.load_pem_x509_certificate(pair.certificate.encode())
        hosts = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        serialization.load_pem_private_key(pair.key.encode(), password=None)
    except (ValueError, TypeError, x509.ExtensionNotFound):
        return True
    return now > _renewal(certificate) or host not in hosts.get_values_for_type(x509.DNSName)


def bundle(*pems: str, now: datetime) -> str:
    """Those of the certificates that still hold, each once, as one PEM."""
    found = (one for pem in pems for one in _certificates(pem) if one.not_valid_after_utc > now)
    texts = (one.public_bytes(serialization.Encoding.PEM).decode() for one in found)
    return "".join(dict.fromkeys(texts))


def _renewal(certificate: x509.Certificate) -> datetime:
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return begin + (end - begin) * _RENEW_AT


def _certificates(pem: str) -> Iterator[x509.Certificate]:
    try:
        yield from x509.load_pem_x509_certificates(pem.encode())
    except ValueError:
        return


def utc_now() -> datetime:
    """The time by which certificates hold."""
    return datetime.now(UTC)


def context() -> ssl.SSLContext:
    """A server's, without a certificate: `present` gives it one, and later another."""
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    return made


def present(pair: Pair, to: ssl.SSLContext) -> None:
    """Show `pair` to whoever connects from now on. It is never written to a disk."""
    held = os.memfd_create("certificate")
    try:
        os.write(held, (pair.certificate + pair.key).encode())
        to.load_cert_chain(f"/proc/self/fd/{held}")
    finally:
        os.close(held)
