"""CEL as admission policies use it: parsed once, evaluated on JSON values.

Of Kubernetes' libraries there are texts, lists, regular expressions, optionals, quantities and JSON patches.
What is not there is an error where it is used, never a guess.
"""

from __future__ import annotations

from k8s_bridge.core.cel.errors import CelError
from k8s_bridge.core.cel.evaluate import evaluate
from k8s_bridge.core.cel.parser import parse

__all__ = ["CelError", "evaluate", "parse"]
