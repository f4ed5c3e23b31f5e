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

from bench import alone, decide, decide_ray, evictions, held, layout, life, lives, nudged, ray_jobs, twenty
from bench.bridge import OURS, PLACEHOLDERS
from bench.places import NAMES as PLACES
from bench.places import Place, place
from bench.report import Result, budgets, lines, table
from k8s_bridge.sandbox.world import Backend

RESULTS = Path(__file__).with_name("results")
_Scenario = Callable[..., Coroutine[Any, Any, Result]]
_IN_A_WORLD: Mapping[str, tuple[_Scenario, int]] = {
    "alone": (alone.run, 20),
    "nudged": (nudged.run, 20),
    "life": (life.run, 60),
    "evictions": (evictions.run, 10),
    "twenty": (twenty.run, 20),
    "twenty_strict": (twenty.run_strict, 20),
    "held": (held.run, 20_000),
    "lives": (lives.run, 10_000),
    "ray_jobs": (ray_jobs.run, 200),
}
"""Scenario -> what runs it, and its number of jobs."""
_ALONE: Mapping[str, Callable[[], Result]] = {
    "decide": decide.run,
    "decide_ray": decide_ray.run,
    "layout": layout.run,
}
"""What needs no world."""
_NAMES = (*_ALONE, *_IN_A_WORLD)
_SCENARIOS: Mapping[str, tuple[str, ...]] = {
    "sandbox": _NAMES,
    "testbed": ("alone", "life", "evictions", "twenty", "twenty_strict"),
}


def main() -> int:
    """Exit code: 0 when every budget was kept, 1 when one was missed."""
    options = _options()
    results = list(_run(options))
    found = lines(results, most=budgets(options.place))
    head = _head(options)
    print("\n".join(f"{key}: {value}" for key, value in head.items()))
    print(table(found))
    path = _write(head, results, missed=[line.name for line in found if line.missed])
    print(f"written to {path}")
    return int(any(line.missed for line in found))


def _run(options: argparse.Namespace) -> Iterator[Result]:
    where = place(options.place, slurm=Backend(options.slurm))
    for name in options.scenario or _SCENARIOS[options.place]:
        print(f"{name} ...", file=sys.stderr, flush=True)
        yield _ALONE[name]() if name in _ALONE else _in_a_world(name, where, options)


def _in_a_world(name: str, where: Place, options: argparse.Namespace) -> Result:
    run, jobs = _IN_A_WORLD[name]
    directory = Path(tempfile.mkdtemp(prefix=f"bench-{name}-"))
    work = run(command=options.bridge, directory=directory, jobs=options.jobs or jobs, place=where)
    try:
        result = asyncio.run(work)
    except BaseException:
        print(f"{name} failed; what is left is in {directory}", file=sys.stderr)
        raise
    shutil.rmtree(directory)
    return result


def _options() -> argparse.Namespace:
    known = "\n".join(f"  {name:<14} {text}" for name, text in PLACEHOLDERS.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=__doc__,
        epilog=f"placeholders of --bridge:\n{known}\n\nours:\n  {OURS}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--scenario", action="append", choices=_NAMES, help="may be repeated; default: all")
    usual = ", ".join(f"{jobs} ({name})" for name, (_, jobs) in _IN_A_WORLD.items())
    parser.add_argument("--jobs", type=int, help=f"number of jobs instead of {usual}")
    parser.add_argument("--place", choices=PLACES, default="sandbox", help="testbed: by make testbed-bench")
    parser.add_argument(
        "--slurm",
        choices=[backend.value for backend in Backend],
        default="fake",
        help="of the sandbox; the testbed has a real one",
    )
    parser.add_argument("--bridge", default=OURS, metavar="CMD", help="command line of the bridge under test")
    return parser.parse_args()


def _head(options: argparse.Namespace) -> dict[str, str]:
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{_cpu()}, {psutil.cpu_count()} cores, {psutil.virtual_memory().total >> 30} GiB,"
        f" load {psutil.getloadavg()[0]:.1f}",
        "versions": f"k8s-bridge {version('k8s-bridge')}, Python {platform.python_version()},"
        f" {platform.system()} {platform.release()}",
        "place": options.place,
        "slurm": place(options.place, slurm=Backend(options.slurm)).slurm.value,
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
