"""The constraint expression (-C): what of it can be advertised by nodes that are made for the job."""

from __future__ import annotations

import re

from k8s_bridge.core import naming
from k8s_bridge.slurm.model import LONGEST

_RESERVED = re.compile(r"nodes-for-.*|by-.*\..*")
"""The features by which the bridge knows its nodes: of a job, slot or component, and of a WorkloadMixing."""
_HIGHEST = 999
"""No array has slots of higher numbers: of each shape of several nodes only so many can be named at once."""
_PLAIN = re.compile(r"[A-Za-z0-9_.:/+-]+(?:&[A-Za-z0-9_.:/+-]+)*")


def pin(user: str, *, job_id: int, slots: tuple[int, ...] = (), component: int | None = None) -> str:
    """The user's expression joined with the feature of the job, or of a component of a heterogeneous one.

    With `slots` all nodes must be of one of these.

    Square brackets are Slurm's matching OR: every allocated node has the same one of the alternatives.
    """
    own = "|".join(naming.slot_feature(job_id, slot) for slot in slots) or naming.node_feature(job_id)
    if component is not None:
        own = naming.component_feature(job_id, component)
    whole = f"[{own}]" if len(slots) > 1 else own
    return f"({user})&{whole}" if user else whole


def most_slots(user: str, *, job_id: int) -> int:
    """How many slots an expression can name beside the user's own part; at least one."""
    around = len(pin(user, job_id=job_id, slots=(0, 1)).encode()) - len(pin("", job_id=job_id, slots=(0, 1)))
    each = len(naming.slot_feature(job_id, _HIGHEST)) + len("|")
    return max(1, (LONGEST - around - len("[]")) // each)


def pin_of(expression: str, *, job_id: int) -> str:
    """The part of `expression` that the bridge put there; "" when there is none."""
    found, own = expression.rpartition("&")[2], naming.node_feature(job_id)
    alternatives = found.removeprefix("[").removesuffix("]").split("|")
    ours = (one == own or one.startswith((f"{own}-s", f"{own}-c")) for one in alternatives)
    return found if all(ours) else ""


def user_expression(expression: str, *, job_id: int) -> str:
    """`expression` without the pin that the bridge itself put on it."""
    if not expression:
        return ""
    found = pin_of(expression, job_id=job_id)
    if not found or expression == found:
        return "" if found else expression
    own = expression.startswith("(") and expression.endswith(f")&{found}")
    return expression[1 : -len(found) - 2] if own else expression


def reserved(expression: str) -> bool:
    """Whether it names a feature that would make nodes of this job pass for those of another."""
    return any(map(_RESERVED.fullmatch, re.split(r"[&|,*()\[\]]+", expression)))


def plain_features(expression: str) -> tuple[str, ...] | None:
    """The features of a plain AND expression, in its order; None for anything with |, counts or brackets."""
    if not expression:
        return ()
    if not _PLAIN.fullmatch(expression):
        return None
    return tuple(dict.fromkeys(expression.split("&")))
