from __future__ import annotations

import pytest

from k8s_bridge.core import naming


@pytest.mark.parametrize("cluster", ["", "blue", "b-1.x"])
@pytest.mark.parametrize("slot", [None, 0, 12])
def test_a_jobset_has_the_name_of_its_unit_alone(cluster: str, slot: int | None):
    name = naming.jobset_name(71, cluster=cluster, slot=slot)
    suffix = "" if slot is None else f"-s{slot}"
    assert naming.is_jobset_name(name, f"71{suffix}")
    assert not naming.is_jobset_name(name, f"1{suffix}")
    assert not naming.is_jobset_name(name, "71" if suffix else "71-s0")


@pytest.mark.parametrize(
    "name", ["7", "-7", "job-7", "x-slurm-job-7", "slurm-job-", "slurm-job--7", "slurm-job-7x"]
)
def test_other_names_are_no_units(name: str):
    assert not naming.is_jobset_name(name, "7")
