from __future__ import annotations

import subprocess

import pytest
from lupa.lua51 import LuaRuntime
from support.plugin_slurmctld import Slurmctld, mixing, script

from k8s_bridge.slurm.plugin import MARK, Unusable, bundle

BASE_SLURMD = {"image": "slurmd:1", "confServer": "ctl:6817", "authSecretName": "slurm"}


def files(*mixings, max_nodes=100, nudge=""):
    return {file.name: file for file in bundle(mixings, max_nodes=max_nodes, nudge=nudge)}


def settings(text):
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def test_every_line_of_the_fragment_has_its_reason_above_it():
    lines = files(mixing("batch"), nudge="http://b:1")["slurm.conf.fragment"].text.splitlines()
    given = [number for number, line in enumerate(lines) if line and not line.startswith("#")]
    assert len(given) == 9
    assert all(lines[number - 1].startswith("# ") for number in given)


def test_the_fragment_is_made_for_the_mixings():
    gres = [{"gres": "fpga:x", "resourceName": "example.com/fpga"}]
    one = mixing("batch", slurmd=BASE_SLURMD | {"gresResources": gres})
    text = files(one, mixing("gpu"), max_nodes=321)["slurm.conf.fragment"].text
    assert settings(text)["GresTypes"] == "fpga,gpu"
    assert settings(text)["MaxNodeCount"] == "321"
    assert "EpilogSlurmctld" not in settings(text)
    assert "NodeSet=hpc-main-nodes Feature=by-hpc.main" in text
    assert "# PartitionName=batch Nodes=hpc-main-nodes" in text
    assert "# PartitionName=gpu Nodes=hpc-main-nodes" in text


def test_mixings_of_one_cluster_share_one_script():
    ctld = Slurmctld(script(mixing("batch"), mixing("gpu")))
    assert ctld.submit(partition="batch")[1]["priority"] == 0
    assert ctld.submit(partition="gpu")[1]["priority"] == 0


def test_a_partition_that_two_mixings_want_is_an_error():
    with pytest.raises(Unusable, match="partition batch is managed twice"):
        files(mixing("batch"), mixing("gpu", "batch"))


@pytest.mark.parametrize("name", ["a b", "a,b", "a\nPartitionName=x", 'a"', "a#"])
def test_a_name_that_slurm_cannot_have_is_an_error(name):
    with pytest.raises(Unusable, match="no name that a Slurm partition can have"):
        files(mixing(name))


def test_a_site_script_can_call_ours():
    ours = script(mixing("batch"))
    site = """
        local bridge_submit = slurm_job_submit
        function slurm_job_submit(job, partitions, submit_uid)
          if job.name == "forbidden" then return slurm.ERROR end
          job.partition = "batch"
          return bridge_submit(job, partitions, submit_uid)
        end
    """
    ctld = Slurmctld(ours + site)
    assert ctld.submit(name="forbidden")[0] == -1
    assert ctld.submit(partition="other")[1]["priority"] == 0


def test_every_file_says_whose_it_is():
    for file in files(mixing("batch"), nudge="http://b:1").values():
        assert any(MARK in line for line in file.text.splitlines()[:2]), file.name


def test_the_nudge_is_a_script_that_never_waits_whatever_the_address(tmp_path):
    address = f"http://b:1/'; touch {tmp_path}/injected; echo '"
    made = files(mixing("batch"), nudge=address)
    assert made["k8s-bridge-nudge"].mode & 0o111
    path = tmp_path / "nudge"
    path.write_text(made["k8s-bridge-nudge"].text)
    subprocess.run(["sh", str(path)], check=True, timeout=1)
    lua = LuaRuntime()
    lua.execute("slurm = { SUCCESS = 0 }")
    lua.execute(made["cli_filter.lua"].text)
    assert lua.globals().slurm_cli_post_submit(0, 5, 4294967294.0) == 0
    assert not (tmp_path / "injected").exists()


def test_steps_of_a_job_that_runs_nudge_nobody():
    lua = LuaRuntime()
    ran = []
    lua.globals().slurm, lua.globals().ran = lua.table_from({"SUCCESS": 0}), ran.append
    lua.execute("os = { execute = ran }")
    lua.execute(files(mixing("batch"), nudge="http://b:1")["cli_filter.lua"].text)
    lua.globals().slurm_cli_post_submit(0, 5, 0.0)
    assert ran == []
    lua.globals().slurm_cli_post_submit(0, 5, 4294967294.0)
    assert len(ran) == 1
    assert "http://b:1/nudge" in ran[0]
