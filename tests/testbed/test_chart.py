"""A real API server takes all that the chart renders, in namespaces where Pod Security is restricted."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from support.chart import CASES, render, values_of

from testbed.control import kubectl
from testbed.places import KUBECONFIG
from testbed.programs import program
from testbed.shell import inside

pytestmark = pytest.mark.testbed

OPERATOR = "monitoring.coreos.com/v1"
"""Kinds of an operator that the testbed does not have."""
_NAMESPACES = ("platform", "hpc", "science")
RESTRICTED = "pod-security.kubernetes.io"


@pytest.fixture
def namespaces() -> Iterator[None]:
    """Empty ones: an earlier world may have left its own."""
    _remove()
    for name in _NAMESPACES:
        kubectl("create", "namespace", name)
        kubectl(
            "label", "namespace", name, f"{RESTRICTED}/enforce=restricted", f"{RESTRICTED}/warn=restricted"
        )
    yield
    _remove()


def _remove() -> None:
    kubectl("delete", "namespace", *_NAMESPACES, "--ignore-not-found", "--timeout=180s")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_real_api_server_takes_all_of_it_without_a_warning(slurm, namespaces, case: Path):
    objects = [found for found in render(values_of(case)) if found["apiVersion"] != OPERATOR]

    kubectl_ = (*inside(), program("kubectl"), f"--kubeconfig={KUBECONFIG}")
    done = subprocess.run(
        [*kubectl_, "create", "--dry-run=server", "--filename=-"],
        input=yaml.safe_dump_all(objects),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == len(objects)
