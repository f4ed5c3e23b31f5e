"""What a job's entrypoint does, read off its text: how long it runs and how it ends. Pure."""

from __future__ import annotations

import re
import shlex

from k8s_bridge.sandbox.controllers.simulated_runtime import Script, read_script

_SLEEP = re.compile(r"\bsleep\(\s*([0-9.]+)\s*\)")
_EXIT = re.compile(r"(?:SystemExit|sys\.exit|\bexit)\(\s*(\d+)\s*\)")
_RAISES = re.compile(r"\braise\s+(?!SystemExit)\w+")
_FOREVER = re.compile(r"\bwhile\s+(?:True|1)\b")


def read_entrypoint(text: str) -> Script:
    """The script of a shell command; a `python -c` is searched for its sleeps and its exit."""
    words = _words(text)
    if words and words[0].rpartition("/")[2].startswith("python"):
        return _python(" ".join(words[1:]))
    return read_script(["sh", "-c", text])


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _python(code: str) -> Script:
    if _FOREVER.search(code):
        return Script(seconds=None, code=0)
    ending = _EXIT.search(code)
    status = int(ending[1]) if ending else int(bool(_RAISES.search(code)))
    return Script(seconds=sum(map(float, _SLEEP.findall(code))), code=status)
