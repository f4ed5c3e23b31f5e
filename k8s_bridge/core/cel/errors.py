"""What goes wrong with an expression."""

from __future__ import annotations


class CelError(Exception):
    """The expression cannot be read, or has no value."""
