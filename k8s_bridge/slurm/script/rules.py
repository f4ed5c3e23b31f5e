"""What sbatch makes of options that concern each other: which exclude, drop or complete one another."""

from __future__ import annotations

import re

from k8s_bridge.slurm.script.errors import ScriptError
from k8s_bridge.slurm.script.settings import Settings

_MEMORY = ("mem", "mem-per-cpu", "mem-per-gpu")
_GEOMETRY = ("ntasks-per-core", "threads-per-core", "extra-node-info")
"""What --hint excludes. The last one forgets --sockets-per-node and --cores-per-socket with it."""
_BESIDE_TASKS_PER_GPU = ("tres-per-task", "gpus-per-task", "gpus-per-socket", "ntasks-per-node")
_NOT_PER_TASK = ("mem", "energy", "node", "billing", "fs", "vmem", "pages", "bb")
_HINTS = {
    "compute_bound": {"threads_per_core": 1},
    "memory_bound": {"cores_per_socket": 1, "threads_per_core": 1},
    "multithread": {},
    "nomultithread": {"threads_per_core": 1},
}


def settle(settings: Settings) -> None:
    """Apply all rules. ScriptError for options that exclude each other."""
    for rule in _RULES:
        rule(settings)


def _tasks_per_gpu(settings: Settings) -> None:
    names = ("ntasks-per-gpu", "ntasks-per-tres")
    if not any(_asked(settings, name) for name in names):
        return
    if all(_asked(settings, name) for name in names):
        _same_tasks_per_gpu(settings)
    other = next((name for name in _BESIDE_TASKS_PER_GPU if _asked(settings, name)), "")
    if other:
        raise ScriptError(f"--ntasks-per-gpu and --{other} exclude each other")


def _same_tasks_per_gpu(settings: Settings) -> None:
    gpu, tres = settings.number("ntasks_per_gpu"), settings.number("ntasks_per_tres")
    if settings.typed("ntasks-per-gpu") == settings.typed("ntasks-per-tres") and gpu != tres:
        raise ScriptError("--ntasks-per-gpu and --ntasks-per-tres do not say the same")


def _memory(settings: Settings) -> None:
    typed = [name for name in _MEMORY if settings.typed(name)]
    if len(typed) > 1 or (not typed and sum(settings.from_variable(name) for name in _MEMORY) > 1):
        raise ScriptError("--mem, --mem-per-cpu and --mem-per-gpu exclude each other")
    if typed:
        for name in _MEMORY:
            if name != typed[0]:
                settings.reset(name)


def _sharing(settings: Settings) -> None:
    if settings.typed("exclusive") and settings.typed("oversubscribe"):
        raise ScriptError("--exclusive and --oversubscribe exclude each other")


def _spare_cores(settings: Settings) -> None:
    if settings.typed("core-spec") and settings.typed("thread-spec"):
        raise ScriptError("--core-spec and --thread-spec exclude each other")


def _tres_per_task(settings: Settings) -> None:
    text = settings.text("tres_per_task")
    for name in _NOT_PER_TASK:
        if text.lower().startswith(name) or f",{name}" in text.lower():
            raise ScriptError(f"--tres-per-task cannot be of {name}")
    text = re.sub(r"(^|,)(gres|license):", r"\1\2/", text)
    settings.put("tres_per_task", text)
    gpus = settings.text("gpus_per_task")
    if gpus:
        kind, _, count = gpus.rpartition(":") if ":" in gpus else gpus.rpartition("=")
        name = f"gres/gpu:{kind}" if kind else "gres/gpu"
        _join(settings, "gpus-per-task", name=name, count=_leading_number(count))
    _join(settings, "cpus-per-task", name="cpu", count=settings.number("cpus_per_task") or 0)


def _join(settings: Settings, option: str, *, name: str, count: int) -> None:
    """Make --tres-per-task and its sibling option say the same."""
    text = settings.text("tres_per_task")
    place = text.lower().find(name)
    if place < 0:
        if count:
            settings.put("tres_per_task", ",".join(filter(None, (f"{name}={count}", text))))
        return
    if settings.typed(option) and settings.typed("tres-per-task"):
        raise ScriptError(f"--{option} and --tres-per-task={name} exclude each other")
    if settings.typed(option) and settings.from_variable("tres-per-task"):
        settings.put("tres_per_task", _replaced(text, name=name, count=count))
        return
    amount = _leading_number(text[place + len(name) + 1 :])
    if amount <= 0:
        raise ScriptError(f"--tres-per-task={name} needs a number")
    both = settings.from_variable(option) and settings.from_variable("tres-per-task")
    if both and amount != (settings.number("cpus_per_task") or 0):  # it compares with CPUs, whatever it is
        raise ScriptError(f"variables give --{option} in two ways that do not agree")
    if option == "cpus-per-task":
        settings.put("cpus_per_task", amount)


def _replaced(text: str, *, name: str, count: int) -> str:
    items = [f"{name}={count}" if item.lower().startswith(name) else item for item in text.split(",")]
    return ",".join(items)


def _cpus_per_gpu(settings: Settings) -> None:
    ways = ["cpus-per-task", *(["tres-per-task"] if "cpu" in settings.text("tres_per_task").lower() else [])]
    typed = any(settings.typed(name) for name in ways)
    variable = any(settings.from_variable(name) for name in ways)
    if (typed and settings.typed("cpus-per-gpu")) or (variable and settings.from_variable("cpus-per-gpu")):
        raise ScriptError("--cpus-per-gpu and --cpus-per-task exclude each other")
    if typed and settings.from_variable("cpus-per-gpu"):
        settings.reset("cpus-per-gpu")
    elif variable and settings.typed("cpus-per-gpu"):
        settings.reset("cpus-per-task")
        items = settings.text("tres_per_task").split(",")
        settings.put("tres_per_task", ",".join(item for item in items if not item.startswith("cpu")))


def _hint(settings: Settings) -> None:
    if not settings.text("hint"):
        return
    typed = any(settings.typed(name) for name in _GEOMETRY)
    if typed or (settings.from_variable("hint") and any(settings.from_variable(n) for n in _GEOMETRY)):
        settings.reset("hint")
        return
    if settings.typed("hint"):
        for name in _GEOMETRY:
            settings.reset(name)
    for word in settings.text("hint").lower().split(","):
        if word not in _HINTS:
            raise ScriptError(f"--hint knows {', '.join(_HINTS)}, not {word!r}")
        for name, value in _HINTS[word].items():
            settings.put(name, value)


def _tasks_per_core(settings: Settings) -> None:
    tasks, threads = settings.number("ntasks_per_core"), settings.number("threads_per_core")
    if tasks is not None and threads is not None and tasks > threads:
        raise ScriptError("--ntasks-per-core is more than --threads-per-core")


def _shortest_time(settings: Settings) -> None:
    """0 is no limit for either."""
    if not _asked(settings, "time-min"):
        return
    least, most = settings.number("time_min"), settings.number("time_limit")
    endless = _asked(settings, "time") and most is None
    if (least is None and not endless) or (least and most and least > most):
        raise ScriptError("--time-min is longer than --time")


def _burst_buffer(settings: Settings) -> None:
    if settings.text("burst_buffer") and settings.text("burst_buffer_file"):
        raise ScriptError("--bb and --bbf exclude each other")


def _asked(settings: Settings, option: str) -> bool:
    return settings.typed(option) or settings.from_variable(option)


def _leading_number(text: str) -> int:
    match = re.match(r"\s*\d+", text, re.ASCII)
    return int(match.group()) if match else 0


_RULES = (
    _tasks_per_gpu,
    _spare_cores,
    _memory,
    _sharing,
    _tres_per_task,
    _cpus_per_gpu,
    _hint,
    _tasks_per_core,
    _shortest_time,
    _burst_buffer,
)
