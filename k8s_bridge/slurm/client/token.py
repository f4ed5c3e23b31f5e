"""The JWT that slurmrestd is asked with: read again when it changes, never shown."""

from __future__ import annotations

import base64
import contextlib
import re
from collections.abc import Callable
from pathlib import Path

import msgspec

from k8s_bridge.core.errors import Terminal
from k8s_bridge.runtime import files

_PARTS = 3
_USER = re.compile(r"[\w.@$-]+", re.ASCII)


class _Claims(msgspec.Struct):
    exp: float | None = None
    sun: str = ""
    username: str = ""


class TokenSource:
    """A token, from a file or a callable (a Secret's value). Its text appears in no repr and no error."""

    def __init__(self, read: Callable[[], str], *, name: str) -> None:
        self._read = read
        self._name = name

    @classmethod
    def file(cls, path: Path) -> TokenSource:
        """Read from a file, again whenever its modification time or size changes."""
        return cls(_File(path), name=str(path))

    def __repr__(self) -> str:
        return f"TokenSource({self._name})"

    def token(self) -> str:
        """The token now. Terminal(TokenMissing) when there is none or it cannot be a header's value."""
        text = self._read().strip()
        if not text:
            raise Terminal(f"the Slurm token of {self._name} is empty", reason="TokenMissing")
        if not (text.isascii() and text.isprintable() and " " not in text):
            raise Terminal(f"the Slurm token of {self._name} is not a JWT", reason="TokenInvalid")
        return text

    @property
    def expires_at(self) -> float | None:
        """When the token expires by its own claim (Unix seconds); None when it does not say."""
        return self._claims().exp

    @property
    def user(self) -> str:
        """Whom the token is for by its own claim; "" when it does not say."""
        claims = self._claims()
        name = claims.sun or claims.username
        return name if _USER.fullmatch(name) else ""

    def _claims(self) -> _Claims:
        parts = self.token().split(".")
        if len(parts) == _PARTS:
            payload = parts[1].encode()
            with contextlib.suppress(ValueError, msgspec.MsgspecError):
                decoded = base64.urlsafe_b64decode(payload + b"=" * (-len(payload) % 4))
                return msgspec.json.decode(decoded, type=_Claims)
        return _Claims()


class _File:
    """A file's text, kept until the file changes. It is looked at again for each call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self._text = ""

    def __call__(self) -> str:
        try:
            stat = self._path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if stamp != self._stamp:
                self._text = files.read(self._path).decode(errors="replace")
                self._stamp = stamp
        except OSError as error:
            text = f"the Slurm token file {self._path} cannot be read: {error.strerror}"
            raise Terminal(text, reason="TokenMissing") from error
        return self._text
