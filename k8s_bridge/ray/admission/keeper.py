"""Keeps the webhook trusted: a certificate in the Secret, and what vouches for it with the API server.

Several instances share the Secret. A new certificate is vouched for before anybody serves it, and the old one
as long as it holds, so that no call fails while they change.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from api.views import Object, View
from k8s_bridge.core.effects import Apply, ObjectRef, Patch
from k8s_bridge.core.errors import BridgeError
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.ray.addresses import Secret
from k8s_bridge.ray.admission.certificates import Pair, bundle, is_due, issue
from k8s_bridge.ray.policies import GROUP
from k8s_bridge.runtime.rounds import Rounds

_SOON, _LATER = 1.0, 60.0
"""Seconds until the next look after a change or a failure, and after a look that found all in order."""
_CERTIFICATE, _KEY, _TRUSTED = "tls.crt", "tls.key", "ca.crt"


class _Client(View, frozen=True):
    ca_bundle: str = ""


class _Webhook(View, frozen=True):
    name: str
    client_config: _Client = _Client()


class _Configuration(Object, frozen=True):
    NAMESPACED = False

    webhooks: tuple[_Webhook, ...] = ()


class Mutating(_Configuration, frozen=True):
    """MutatingWebhookConfiguration, as far as it is about trust."""

    GVR = (GROUP, "v1", "mutatingwebhookconfigurations")
    KIND = "MutatingWebhookConfiguration"


class Validating(_Configuration, frozen=True):
    """ValidatingWebhookConfiguration, likewise."""

    GVR = (GROUP, "v1", "validatingwebhookconfigurations")
    KIND = "ValidatingWebhookConfiguration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Names of what the chart makes. `namespace` is that of Secret and Service."""

    namespace: str
    secret: str
    service: str
    configuration: str

    @property
    def host(self) -> str:
        """How the API server calls the webhook."""
        return f"{self.service}.{self.namespace}.svc"


class Keeper(Rounds):
    """`present` is given the pair to serve; `failed` hears of looks that did not succeed."""

    def __init__(
        self,
        client: KubeClient,
        place: Place,
        *,
        present: Callable[[Pair], None],
        failed: Callable[[BridgeError], None],
        now: Callable[[], datetime],
    ) -> None:
        super().__init__()
        self._client = client
        self._place = place
        self._present = present
        self._failed = failed
        self._now = now
        self._served: Pair | None = None
        self.trusted = False
        """Whether the API server trusts what is served."""

    async def _look(self) -> float:
        try:
            return await self.look()
        except BridgeError as error:
            self._failed(error)
            return _SOON

    async def look(self) -> float:
        """Look once; seconds until the next look. Raises BridgeError."""
        place = self._place
        secret = await self._client.get(Secret, name=place.secret, namespace=place.namespace)
        pair = Pair(certificate=_text(secret, _CERTIFICATE), key=_text(secret, _KEY))
        if is_due(pair, place.host, now=self._now()):
            await self._renew(secret, pair)
            return 0.0
        changed = await self._vouch(_text(secret, _TRUSTED))
        if self._served is None or not changed:
            self._serve(pair)
        self.trusted = self.trusted or not changed
        return _SOON if changed else _LATER

    def _serve(self, pair: Pair) -> None:
        if pair != self._served:
            self._present(pair)
            self._served = pair

    async def _renew(self, secret: Secret, old: Pair) -> None:
        now = self._now()
        new = issue(self._place.host, now=now)
        trusted = bundle(new.certificate, old.certificate, _text(secret, _TRUSTED), now=now)
        texts = {_CERTIFICATE: new.certificate, _KEY: new.key, _TRUSTED: trusted}
        data = {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}
        version = secret.metadata.resource_version
        await self._client.patch(
            Patch(ref=ObjectRef.to(secret), patch={"data": data}, resource_version=version)
        )

    async def _vouch(self, trusted: str) -> bool:
        """Whether anything had to be changed."""
        encoded = base64.b64encode(trusted.encode()).decode()
        found = [
            await self._client.get(view, name=self._place.configuration) for view in (Mutating, Validating)
        ]
        stale = [one for one in found if any(w.client_config.ca_bundle != encoded for w in one.webhooks)]
        for one in stale:
            await self._client.apply(Apply(ref=ObjectRef.to(one), manifest=_manifest(one, encoded)))
        return bool(stale)


def _manifest(found: _Configuration, encoded: str) -> Mapping[str, Any]:
    ref = ObjectRef.to(found)
    return {
        "apiVersion": ref.api_version,
        "kind": ref.kind,
        "metadata": {"name": ref.name},
        "webhooks": list(_vouched(found, encoded)),
    }


def _vouched(found: _Configuration, encoded: str) -> Iterator[dict[str, Any]]:
    for webhook in found.webhooks:
        yield {"name": webhook.name, "clientConfig": {"caBundle": encoded}}


def _text(secret: Secret, name: str) -> str:
    """Empty for what is not there or cannot be read: another one is made then."""
    try:
        return base64.b64decode(secret.data.get(name, ""), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
