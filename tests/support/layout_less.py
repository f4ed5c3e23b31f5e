"""What can be taken away from a layout so that its job has to wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from k8s_bridge.slurm.layout import Layout, Shape
from k8s_bridge.slurm.model import Job
from support.layout_trials import shapes_of


def lesser(layout: Layout, *, job: Job) -> Iterator[tuple[str, Sequence[Shape]]]:
    """The nodes without a node, or with a CPU, a MiB or a GRES less on the first of a group: what and which.

    Only what was asked for exactly: not a share of memory that nobody named, and not what makes a node whole.
    """
    shapes = shapes_of(layout)
    if len(shapes) > 1:
        yield "a node", shapes[:-1]
    for index, shape in _firsts(layout):
        for what, less in _smaller(shape, job):
            yield f"a {what} of node {index}", [*shapes[:index], less, *shapes[index + 1 :]]


def _firsts(layout: Layout) -> Iterator[tuple[int, Shape]]:
    index = 0
    for group in layout.groups:
        yield index, group.shape
        index += group.count


def _smaller(shape: Shape, job: Job) -> Iterator[tuple[str, Shape]]:
    if shape.whole_node:
        return
    if shape.cpus > 1:
        yield "CPU", replace(shape, cpus=shape.cpus - 1)
    if shape.memory > 1 and (job.memory_per_node or job.memory_per_cpu or job.memory_per_tres):
        yield "MiB", replace(shape, memory=shape.memory - 1)
    for index, (name, kind, count) in enumerate(shape.gres):
        less = ((name, kind, count - 1),) if count > 1 else ()
        yield name, replace(shape, gres=(*shape.gres[:index], *less, *shape.gres[index + 1 :]))
