"""Which WorkloadMixings are in force: the last good revision of each, and what is wrong with a newer one.

Every revision, first or reloaded, from the API or a file, passes here: the models' checks, then the gates and
the templates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from api.problems import InvalidWorkloadMixing, Problem
from api.v1alpha1 import WorkloadMixing
from k8s_bridge.runtime import gates, templates


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of the newest revision of `name`: in force when there are no problems."""

    name: str
    problems: tuple[Problem, ...] = ()
    kept: bool = False
    """An older revision stays in force."""


class Intake:
    """Holds what is in force. `on_change` is given all of it whenever any of it changes."""

    def __init__(
        self,
        allowed: gates.Gates,
        *,
        on_change: Callable[[Mapping[str, WorkloadMixing]], None],
        on_verdict: Callable[[Verdict], None],
    ) -> None:
        self._gates = allowed
        self._on_change = on_change
        self._on_verdict = on_verdict
        self._good: dict[str, WorkloadMixing] = {}

    def offer(self, name: str, read: Callable[[], WorkloadMixing]) -> bool:
        """Take a revision of `name` in force; False when it is refused and what was in force stays.

        `read` raises InvalidWorkloadMixing, OSError or UnicodeError when there is nothing to be read.
        """
        try:
            mixing = read()
        except InvalidWorkloadMixing as error:
            return self._refuse(name, error.problems)
        except (OSError, UnicodeError) as error:
            problem = Problem(path="document", why=str(error), fix="make it readable")
            return self._refuse(name, (problem,))
        problems = (*gates.problems(mixing, self._gates), *templates.problems(mixing))
        if problems:
            return self._refuse(name, problems)
        return self._accept(name, mixing)

    def drop(self, name: str) -> None:
        """`name` is no more."""
        if self._good.pop(name, None) is not None:
            self._on_change(self._good)

    def _accept(self, name: str, mixing: WorkloadMixing) -> bool:
        changed = self._good.get(name) != mixing
        self._good[name] = mixing
        self._on_verdict(Verdict(name=name))
        if changed:
            self._on_change(self._good)
        return True

    def _refuse(self, name: str, problems: tuple[Problem, ...]) -> bool:
        self._on_verdict(Verdict(name=name, problems=problems, kept=name in self._good))
        return False
