"""Pods without processes: `sleep`, `exit`, `true`, `false` and `trap` are read and played on a clock.

A variable that doubles itself for ever, as in `while true; do x=$x$x; done`, runs into the memory limit.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from k8s_bridge.sandbox.clock import Clock
from k8s_bridge.sandbox.controllers.kubelet_runtime import (
    SIGKILL_EXIT,
    ExitStatus,
    ImagePullError,
    Pod,
    PodEnv,
    main_container,
)

_TRAP = re.compile(r"""trap\s+(['"])(?P<body>.*?)\1\s+(?:SIG)?TERM""")
_EXIT = re.compile(r"\bexit\s+(\d+)")
_DOUBLES = re.compile(r"\b(\w+)=\$\1\$\1\b")
_FOREVER = {"infinity", "inf"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What a command does: run for `seconds` (None: for ever), then end with `code`.

    SIGTERM ends it with `on_term`; None: SIGTERM is ignored, as by a shell that is process 1.
    """

    seconds: float | None
    code: int
    on_term: int | None = None
    cause: str = ""


def read_script(words: Sequence[str]) -> Script:
    """The script of a container's command and arguments; what it does not know runs for ever."""
    if not words:
        return Script(seconds=None, code=0)
    if len(words) >= 3 and words[0].rpartition("/")[2] in ("sh", "bash") and words[1] in ("-c", "-ec"):  # noqa: PLR2004
        return _shell(words[2])
    return _play([list(words)], on_term=None)


def _shell(text: str) -> Script:
    if _DOUBLES.search(text):
        return Script(seconds=0.0, code=SIGKILL_EXIT, cause="OOMKilled")
    trap = _TRAP.search(text)
    on_term = None
    if trap:
        code = _EXIT.search(trap["body"])
        on_term = int(code.group(1)) if code else 0
        text = _TRAP.sub("", text)
    parts = [shlex.split(part.strip().rstrip("&")) for part in re.split(r"[;\n]|&&", text)]
    return _play([p for p in parts if p], on_term=on_term)


def _play(commands: Sequence[list[str]], *, on_term: int | None) -> Script:
    seconds, code = 0.0, 0
    for name, *arguments in commands:
        match name:
            case "sleep":
                if not arguments or arguments[0] in _FOREVER:
                    return Script(seconds=None, code=0, on_term=on_term)
                seconds += float(arguments[0].rstrip("s"))
            case "exit":
                return Script(seconds=seconds, code=int(arguments[0]) if arguments else code, on_term=on_term)
            case "true" | "false":
                code = int(name == "false")
            case "echo" | "wait" | "set" | "exec" | "date" | "hostname":
                continue
            case _:
                return Script(seconds=None, code=0, on_term=on_term)
    return Script(seconds=seconds, code=code, on_term=on_term)


class SimulatedRuntime:
    """Plays each pod's script. What has "missing" or "nosuch" in its name, image or command, is not there."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def start(self, pod: Pod, env: PodEnv) -> SimulatedPod:
        """Start the script."""
        del env
        container = main_container(pod)
        pull(container.get("image", ""))
        words = [*(container.get("command") or ()), *(container.get("args") or ())]
        if words and _is_missing(words[0]):
            raise FileNotFoundError(f'exec: "{words[0]}": stat {words[0]}: no such file or directory')
        return SimulatedPod(self._clock, read_script(words))


def pull(image: str) -> None:
    """Have an image. Raises ImagePullError, in the words of containerd."""
    if _is_missing(image):
        raise ImagePullError(_not_found(image))


def _is_missing(name: str) -> bool:
    return "missing" in name or "nosuch" in name


def _not_found(image: str) -> str:
    registry, _, rest = image.partition("/")
    name, _, tag = rest.partition(":")
    url = f"https://{registry}/v2/{name}/manifests/{tag or 'latest'}"
    return (
        f'failed to pull and unpack image "{image}": failed to resolve reference "{image}": '
        f'failed to do request: Head "{url}": dial tcp: lookup {registry}: '
        "Temporary failure in name resolution"
    )


class SimulatedPod:
    """One playing script."""

    def __init__(self, clock: Clock, script: Script) -> None:
        self._clock = clock
        self._script = script
        self._ended: asyncio.Future[ExitStatus] = asyncio.get_running_loop().create_future()
        self._playing = asyncio.create_task(self._play())

    async def ready(self) -> None:
        """At once: a simulated pod has no probes."""

    async def wait(self) -> ExitStatus:
        """The end of the script, or of the termination."""
        return await asyncio.shield(self._ended)

    async def terminate(self, *, grace: float) -> None:
        """A trap ends it at once, else the grace is waited out."""
        if self._ended.done():
            return
        if grace > 0 and self._script.on_term is not None:
            self._end(self._script.on_term)
        elif grace > 0:
            await self._clock.sleep(grace)
        self._end(SIGKILL_EXIT)
        self._playing.cancel()

    async def _play(self) -> None:
        if self._script.seconds is None:
            return
        await self._clock.sleep(self._script.seconds)
        self._end(self._script.code, cause=self._script.cause)

    def _end(self, code: int, *, cause: str = "") -> None:
        if not self._ended.done():
            self._ended.set_result(ExitStatus(code=code, cause=cause))
