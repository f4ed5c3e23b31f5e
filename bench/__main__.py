"""`python -m bench`: run scenarios against a bridge, print what was measured, fail when it is too much."""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Coroutine, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from bench import decide, held, life
from bench.bridge import OURS, PLACEHOLDERS
from bench.report import Result, budgets, lines, table
from k8s_bridge.sandbox.world import Backend

RESULTS = Path(__file__).with_name("results")
_Scenario = Callable[..., Coroutine[Any, Any, Result]]
_IN_A_WORLD: Mapping[str, tuple[_Scenario, int]] = {"life": (life.run, 60), "held": (held.run, 20_000)}
"""Scenario -> what runs it, and its number of jobs."""
_NAMES = ("decide", *_IN_A_WORLD)


def main() -> int:
    """Exit code: 0 when every budget was kept, 1 when one was missed."""
    options = _options()
    results = list(_run(options))
    found = lines(results, most=budgets())
    head = _head(options)
    print("\n".join(f"{key}: {value}" for key, value in head.items()))
    print(table(found))
    path = _write(head, results, missed=[line.name for line in found if line.missed])
    print(f"written to {path}")
    return int(any(line.missed for line in found))


def _run(options: argparse.Namespace) -> Iterator[Result]:
    for name in options.scenario or _NAMES:
        print(f"{name} ...", file=sys.stderr, flush=True)
        if name == "decide":
            yield decide.run()
            continue
        run, jobs = _IN_A_WORLD[name]
        directory = Path(tempfile.mkdtemp(prefix=f"bench-{name}-"))
        work = run(
            command=options.bridge,
            directory=directory,
            jobs=options.jobs or jobs,
            slurm=Backend(options.slurm),
        )
        try:
            yield asyncio.run(work)
        except BaseException:
            print(f"{name} failed; what is left is in {directory}", file=sys.stderr)
            raise
        shutil.rmtree(directory)


def _options() -> argparse.Namespace:
    known = "\n".join(f"  {name:<14} {text}" for name, text in PLACEHOLDERS.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=__doc__,
        epilog=f"placeholders of --bridge:\n{known}\n\nours:\n  {OURS}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--scenario", action="append", choices=_NAMES, help="may be repeated; default: all")
    parser.add_argument("--jobs", type=int, help="number of jobs instead of 60 (life) and 20000 (held)")
    parser.add_argument("--slurm", choices=[backend.value for backend in Backend], default="fake")
    parser.add_argument("--bridge", default=OURS, metavar="CMD", help="command line of the bridge under test")
    return parser.parse_args()


def _head(options: argparse.Namespace) -> dict[str, str]:
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{_cpu()}, {psutil.cpu_count()} cores, {psutil.virtual_memory().total >> 30} GiB,"
        f" load {psutil.getloadavg()[0]:.1f}",
        "versions": f"k8s-bridge {version('k8s-bridge')}, Python {platform.python_version()},"
        f" {platform.system()} {platform.release()}",
        "slurm": options.slurm,
        "command": shlex.join(["python", "-m", "bench", *sys.argv[1:]]),
    }


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _write(head: Mapping[str, str], results: list[Result], *, missed: list[str]) -> Path:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{head['date'].replace(':', '').replace('+0000', 'Z')}.json"
    measured = {name: value for result in results for name, value in result.measured.items()}
    detail = {result.scenario: dict(result.detail) for result in results}
    document = {**head, "missed": missed, "measured": measured, "detail": detail}
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return path


if __name__ == "__main__":
    sys.exit(main())
