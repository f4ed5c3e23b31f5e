"""Who asks: the user of a request, by its token and user-name header, as rest_auth/jwt decides."""

from __future__ import annotations

import time

from starlette.requests import Request

from k8s_bridge.sandbox import slurm_jwt
from k8s_bridge.sandbox.slurm_fake.cluster import ROOT
from k8s_bridge.sandbox.slurm_fake.errors import Errno, SlurmError


class Keyring:
    """The cluster's token key. Token times are wall-clock times: clients look at `exp` by their own clock."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def mint(self, user: str, *, lifetime: int) -> str:
        """A token; `lifetime` in seconds, negative for one that has expired."""
        return slurm_jwt.mint(self._key, user=user, issued=int(time.time()), lifetime=lifetime)

    def user(self, request: Request) -> str:
        """The user that a request acts as. Raises SlurmError for a token that does not count."""
        token = request.headers["X-SLURM-USER-TOKEN"]
        owner = slurm_jwt.user_of(token, key=self._key, now=int(time.time()))
        name = request.headers.get("X-SLURM-USER-NAME") or owner
        if owner is None or name is None or owner not in (ROOT, name):
            raise SlurmError(Errno.AUTHENTICATION)
        return name
