"""How the doctor's results look on a terminal: by whom they are about, the worst in full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import click

from k8s_bridge.slurm.doctor import Result, Verdict

_SIGNS = {
    Verdict.FINE: ("ok", "green"),
    Verdict.UNSEEN: ("?", "cyan"),
    Verdict.DOUBTFUL: ("!", "yellow"),
    Verdict.WRONG: ("X", "red"),
}


def print_results(results: Sequence[Result], *, whole: bool) -> None:
    """Print to stdout; what is fine only in a `whole` report."""
    for about, group in groupby(results, key=lambda one: one.about):
        shown = [one for one in group if whole or one.verdict is not Verdict.FINE]
        if shown:
            click.secho(about, bold=True)
            for one in shown:
                for line in _lines(one):
                    click.echo(line)
    click.echo(_sum(results))


def _lines(one: Result) -> Iterator[str]:
    sign, colour = _SIGNS[one.verdict]
    yield f"  {click.style(f'{sign:>2}', fg=colour)} {one.check}: {one.seen}"
    if one.why:
        yield f"       why: {one.why}"
    if one.cure:
        yield f"      cure: {one.cure}"


def _sum(results: Iterable[Result]) -> str:
    counts = Counter(one.verdict for one in results)
    return ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in reversed(Verdict))
