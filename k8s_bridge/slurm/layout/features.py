"""The constraint expression (-C): what of it can be advertised by nodes that are made for the job."""

from __future__ import annotations

import re

from k8s_bridge.core import naming

_PLAIN = re.compile(r"[A-Za-z0-9_.:/+-]+(?:&[A-Za-z0-9_.:/+-]+)*")


def user_expression(expression: str, *, job_id: int) -> str:
    """`expression` without the pin that the bridge itself put on it."""
    pin = naming.node_feature(job_id)
    if expression == pin:
        return ""
    suffix = f")&{pin}"
    own = expression.startswith("(") and expression.endswith(suffix)
    return expression[1 : -len(suffix)] if own else expression


def plain_features(expression: str) -> tuple[str, ...] | None:
    """The features of a plain AND expression, in its order; None for anything with |, counts or brackets."""
    if not expression:
        return ()
    if not _PLAIN.fullmatch(expression):
        return None
    return tuple(dict.fromkeys(expression.split("&")))
