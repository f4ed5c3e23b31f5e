"""How `render` tells what became of a job's options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from k8s_bridge.slurm.layout.types import Group as Pods
from k8s_bridge.slurm.layout.types import Layout, Refusal
from k8s_bridge.slurm.policy import Route
from k8s_bridge.slurm.script import Effect, Fate

_STYLES = {Fate.COUNTS: "", Fate.IGNORED: "dim", Fate.REFUSED: "red", Fate.UNKNOWN: "yellow"}


def print_story(effects: Iterable[Effect], *, title: str, planned: Layout | Refusal, route: Route) -> None:
    """The table and its sum, on stderr: stdout is for the manifest alone."""
    console = Console(stderr=True)
    console.print(_story(tuple(effects), title=title, planned=planned, route=route))


def _story(
    effects: tuple[Effect, ...], *, title: str, planned: Layout | Refusal, route: Route
) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
    for column in ("GIVEN IN", "OPTION", "", "EFFECT"):
        table.add_column(column, overflow="fold")
    for effect in effects:
        cells = (effect.where, effect.option, effect.fate.value, effect.text)
        table.add_row(*(Text(cell, style=_STYLES[effect.fate]) for cell in cells))
    return Group(*([table] if effects else [Text(title, style="italic")]), *_sum(planned, route))


def _sum(planned: Layout | Refusal, route: Route) -> Iterator[Text]:
    if isinstance(planned, Refusal):
        return  # the table has it, and the command ends with it
    for group in planned.groups:
        yield Text(f"{_counted(group.count, 'pod')} with {_pod(group)}")
    partition, queue = route.mapping.partition_name, route.queue
    yield Text(f"partition {partition}, queue {queue}, priority class {route.priority_class}")


def _pod(group: Pods) -> str:
    shape = group.shape
    parts = [_counted(group.tasks, "task"), _counted(shape.cpus, "CPU")]
    parts += [f"{shape.memory} MiB"] if shape.memory else []
    parts += [f"{count} {':'.join(filter(None, (name, kind)))}" for name, kind, count in shape.gres]
    parts += ["a whole node each"] if shape.whole_node else []
    return ", ".join(parts)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
