"""Kubernetes quantities as values of expressions. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from k8s_bridge.core.cel.errors import CelError
from k8s_bridge.core.quantity import exact


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """An amount in thousandths."""

    thousandths: int

    @property
    def is_integer(self) -> bool:
        """Whether it is a whole number."""
        return self.thousandths % 1000 == 0

    @property
    def as_integer(self) -> int:
        """The whole number. Raises CelError when it is none."""
        if not self.is_integer:
            raise CelError("cannot convert value to integer")
        return self.thousandths // 1000


def quantity(text: str) -> Quantity:
    """The quantity of a text. Raises CelError for what is none."""
    try:
        return Quantity(math.ceil(exact(text) * 1000))
    except ValueError as error:
        raise CelError(str(error)) from error


def is_quantity(text: str) -> bool:
    """Whether a text is one."""
    try:
        quantity(text)
    except CelError:
        return False
    return True
