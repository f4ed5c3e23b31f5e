"""Random sets of sbatch options: what is drawn, and what a failing set is simplified to."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from k8s_bridge.slurm.layout import Exclusive, NodeShape

Chance = random.Random
Draw = Callable[[Chance], str]
_NUMBER = re.compile(r"(?:(?<=^-\w)|(?<=[-=:,]))\d+")

SIZED = NodeShape(cpus=4, memory=1000, gpus=4)
SHAPES = (None, None, SIZED, NodeShape(cpus=4, gpus=4), NodeShape(cpus=6, memory=4096, gpus=2))
FEATURES = ("avx", "ib")
"""What the static nodes of the cluster have: sbatch refuses a feature that no node has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What one job asks for, and what its partition says."""

    options: tuple[str, ...]
    virtual: NodeShape | None = None
    exclusive: Exclusive = Exclusive.AS_ASKED

    def __post_init__(self) -> None:
        """24.11 does not tell -N1 -n8, which must stay on one node, from -n8: no packing there."""
        words = [text[:3] for text in self.options]
        if "-N1" in words or ("-n1" in self.options and any(word.startswith("-N") for word in words)):
            object.__setattr__(self, "virtual", None)

    def __str__(self) -> str:
        shape = f" on {self.virtual}" if self.virtual else ""
        rule = " where all jobs are exclusive" if self.exclusive is Exclusive.ALWAYS else ""
        return f"sbatch {' '.join(self.options)}{shape}{rule}"


def count(option: str, low: int, high: int) -> Draw:
    """`option` with a number from `low` to `high`."""
    return lambda chance: f"{option}{chance.randint(low, high)}"


def one(*texts: str) -> Draw:
    """One of `texts`."""
    return lambda chance: chance.choice(texts)


def nodes(chance: Chance) -> str:
    low = chance.randint(1, 4)
    return f"-N{low}" if chance.random() < 0.6 else f"-N{low}-{low + chance.randint(0, 3)}"


def gres(chance: Chance) -> str:
    kind = chance.choice(("gpu", "gpu:a100"))
    return f"--gres={kind}:{chance.randint(1, 4)}"


SIZES: tuple[tuple[float, tuple[Draw, ...]], ...] = (
    (0.5, (nodes,)),
    (0.6, (count("-n", 1, 9),)),
    (0.35, (count("-c", 1, 4),)),
    (0.25, (count("--ntasks-per-node=", 1, 4),)),
    (0.1, (count("--mincpus=", 1, 5),)),
    (
        0.6,
        (
            count("--mem=", 1, 300),
            count("--mem=", 1, 300),
            one("--mem=0", "--mem=1G", "--mem=900M"),
            count("--mem-per-cpu=", 1, 80),
            count("--mem-per-gpu=", 1, 80),
        ),
    ),
    (
        0.55,
        (
            gres,
            gres,
            count("--gpus=", 1, 8),
            count("--gpus=a100:", 1, 6),
            count("--gpus-per-node=", 1, 4),
            count("--gpus-per-task=", 1, 2),
            one("--tres-per-task=cpu=2,gres/gpu:1", "--tres-per-task=gres/gpu:a100:1"),
        ),
    ),
    (0.1, (count("--gpus=", 1, 8), count("--gpus-per-task=", 1, 2), count("--gpus-per-node=", 1, 4))),
    (0.1, (count("--cpus-per-gpu=", 1, 3),)),
    (0.2, (one("--exclusive", "--exclusive=user", "--exclusive=mcs", "-s"),)),
    (0.15, (one("-Cavx", "-C'avx&ib'"),)),
)
"""How often each kind of option is given, and in which ways. Order is that of the command line."""

HARMLESS: tuple[str, ...] = (
    "--use-min-nodes",
    "-mblock",
    "-mcyclic:block,NoPack",
    "--hint=multithread",
    "--hint=nomultithread",
    "--hint=compute_bound",
    "--hint=memory_bound",
    "--threads-per-core=1",
    "--cores-per-socket=1",
    "--sockets-per-node=1",
    "--ntasks-per-core=1",
    "-B1:1:1",
    "--mem-bind=local",
    "--gpu-bind=closest",
    "--gpu-freq=low",
    "--cpu-freq=high",
    "--delay-boot=5",
    "--wait-all-nodes=1",
    "--signal=B:USR1@60",
    "--time=10",
    "--time=20 --time-min=10",
    "--nice=5",
    "--no-requeue",
    "--requeue",
    "--no-kill",
    "--open-mode=append",
    "--gres-flags=disable-binding",
    "--core-spec=1",
    "--thread-spec=1",
    "--comment=word",
)
"""Options that change nothing about the capacity."""

UNMET: tuple[str, ...] = (
    "--gpus-per-socket=1 --sockets-per-node=1",
    "--ntasks-per-socket=2",
    "--ntasks-per-gpu=2",
    "--sockets-per-node=2",
    "--cores-per-socket=2",
    "--threads-per-core=2",
    "-B2:1",
    "-O -n7",
    "-wstatic1",
    "-xstatic1",
    "--prefer=avx",
    "-C'avx|ib'",
    "-C'[avx*2&ib*1]'",
    "--switches=1",
    "--contiguous",
    "--spread-job",
    "--tmp=100",
    "--network=x",
    "--bb=x",
    "--container=x",
    "--reboot",
    "--gres-flags=enforce-binding",
    "--exclusive=topo",
)
"""Options that no capacity can meet."""

NOT_IN_22_05 = frozenset({"--mincpus", "--ntasks-per-gpu", "--switches", "--network"})
"""Its records do not show the last three, and do not tell the first one from -c."""
_HARMLESS_RATE, _UNMET_RATE, _ALWAYS_RATE = 0.06, 0.06, 0.05


def cases(seed: int, *, without: frozenset[str] = frozenset()) -> Iterator[Case]:
    """Distinct cases without end, the same for the same seed. `without` names options that are left out."""
    chance, seen = random.Random(seed), set[Case]()
    while True:
        case = _case(chance, without=without)
        if case not in seen:
            seen.add(case)
            yield case


def _case(chance: Chance, *, without: frozenset[str]) -> Case:
    drawn = [chance.choice(ways)(chance) for rate, ways in SIZES if chance.random() < rate]
    drawn += [text for text in HARMLESS if chance.random() < _HARMLESS_RATE]
    drawn += [chance.choice(UNMET)] if chance.random() < _UNMET_RATE else []
    return Case(
        options=tuple(text for text in drawn if text.partition("=")[0] not in without),
        virtual=chance.choice(SHAPES),
        exclusive=Exclusive.ALWAYS if chance.random() < _ALWAYS_RATE else Exclusive.AS_ASKED,
    )


def simpler(case: Case) -> Iterator[Case]:
    """The case with an option, a virtual node or a rule less, or with a smaller number."""
    for index, text in enumerate(case.options):
        yield replace(case, options=(*case.options[:index], *case.options[index + 1 :]))
        for match in _NUMBER.finditer(text):
            less = int(match.group()) - 1
            if less > 0:
                smaller = f"{text[: match.start()]}{less}{text[match.end() :]}"
                yield replace(case, options=(*case.options[:index], smaller, *case.options[index + 1 :]))
    if case.virtual is not None:
        yield replace(case, virtual=None)
    if case.exclusive is Exclusive.ALWAYS:
        yield replace(case, exclusive=Exclusive.AS_ASKED)
