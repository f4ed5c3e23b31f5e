"""Licenses and reservations on the wire, and their translation. v0.0.38 has plain numbers for times."""

from __future__ import annotations

import msgspec

from k8s_bridge.slurm.client.number import AnyNumber, time_of
from k8s_bridge.slurm.client.results import License
from k8s_bridge.slurm.client.wire_job import words
from k8s_bridge.slurm.model import Reservation


class WireLicense(msgspec.Struct, frozen=True, rename={"name": "LicenseName", "free": "Free"}):
    """The fields that are used."""

    name: str
    free: int = 0


class WireReservation(msgspec.Struct, frozen=True):
    """The fields that are used."""

    name: str
    start_time: AnyNumber = None
    end_time: AnyNumber = None
    flags: str | tuple[str, ...] | None = None


def license_of(wire: WireLicense) -> License:
    """The lean model of a license."""
    return License(name=wire.name, free=wire.free)


def reservation_of(wire: WireReservation) -> Reservation:
    """The lean model of a reservation."""
    return Reservation(
        name=wire.name,
        start_time=time_of(wire.start_time),
        end_time=time_of(wire.end_time),
        flags=words(wire.flags or ()),
    )
