"""`kubectl bridge` as people call it: kubectl finds the plugin on the PATH."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from testbed.places import KUBECONFIG
from testbed.programs import program
from testbed.shell import inside


def kubectl_bridge(*words: str, stdin: str = "") -> tuple[int, Any]:
    """Its exit code, and what it prints by `-o json`."""
    path = (Path(sys.executable).parent, program("kubectl").parent, os.environ["PATH"])
    return spoken([program("kubectl"), "bridge", *words, "-o", "json"], path=path, stdin=stdin)


def in_pod(pod: str, *words: str, namespace: str) -> tuple[int, Any]:
    """The same of `k8s-bridge` in a pod, such as deploy/NAME."""
    command = ("-n", namespace, "exec", pod, "--", "k8s-bridge", *words, "-o", "json")
    return spoken([program("kubectl"), *command])


def spoken(argv: list[str | Path], *, path: tuple[str | Path, ...] = (), stdin: str = "") -> tuple[int, Any]:
    """Run it in the control plane's network. AssertionError with its last words when it prints no JSON."""
    environment = os.environ | {"KUBECONFIG": str(KUBECONFIG)}
    if path:
        environment["PATH"] = os.pathsep.join(map(str, path))
    done = subprocess.run(
        [*inside(), *argv], input=stdin, env=environment, capture_output=True, text=True, check=False
    )
    try:
        return done.returncode, json.loads(done.stdout)
    except ValueError:
        raise AssertionError(f"{argv}: {done.returncode}: {done.stdout}{done.stderr}") from None
