from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
import yaml

from api.views import ObjectMeta
from k8s_bridge.kube.versions import table_of
from k8s_bridge.runtime.gates import Gates
from k8s_bridge.runtime.intake import Intake
from k8s_bridge.runtime.sources import FileSource, MixingObject, TableSource

SPEC = {
    "slurmRestURL": "https://slurm:6820",
    "localQueue": "hpc",
    "partitionMappings": [{"partitionName": "cpu", "workloadPriorityClass": "normal"}],
    "slurmd": {"image": "registry.example.com/slurmd:1", "confServer": "ctl:6817", "authSecretName": "slurm"},
}


class World:
    def __init__(self, gates=None):
        self.told, self.verdicts = [], []
        self.intake = Intake(
            gates or Gates(),
            on_change=lambda mixings: self.told.append(dict(mixings)),
            on_verdict=self.verdicts.append,
        )

    @property
    def names(self):
        return sorted(self.told[-1]) if self.told else []

    def queue(self, name):
        return self.told[-1][name].spec.local_queue


def row(name="main", *, version="1", generation=1, **spec):
    return MixingObject(
        metadata=ObjectMeta(
            name=name,
            namespace="hpc",
            uid=f"uid-{name}",
            resource_version=version,
            generation=generation,
            creation_timestamp=datetime(2026, 1, 1, tzinfo=UTC),
        ),
        spec=SPEC | spec,
    )


def test_rows_come_into_force_change_and_go():
    world, table = World(), table_of(MixingObject)
    table.upsert(row())
    TableSource(table, world.intake)
    assert world.names == ["hpc/main"]
    table.upsert(row("second"))
    assert world.names == ["hpc/main", "hpc/second"]
    table.upsert(row(version="2", generation=2, localQueue="other"))
    assert world.queue("hpc/main") == "other"
    table.remove("hpc/main")
    assert world.names == ["hpc/second"]


def test_a_status_write_is_no_change():
    world, table = World(), table_of(MixingObject)
    TableSource(table, world.intake)
    table.upsert(row())
    table.upsert(row(version="2"))
    assert len(world.told) == 1


def test_a_bad_edit_keeps_the_last_good_revision_and_tells_every_problem():
    world, table = World(), table_of(MixingObject)
    TableSource(table, world.intake)
    table.upsert(row())
    table.upsert(row(version="2", generation=2, localQueue=7, pollInterval="soon"))
    assert world.queue("hpc/main") == "hpc"
    verdict = world.verdicts[-1]
    assert verdict.kept
    assert {problem.path for problem in verdict.problems} == {"spec.localQueue", "spec.pollInterval"}


def test_a_reload_cannot_get_past_the_gates():
    world, table = World(Gates(images=("registry.example.com/",))), table_of(MixingObject)
    TableSource(table, world.intake)
    table.upsert(row())
    table.upsert(row(version="2", slurmd=SPEC["slurmd"] | {"image": "evil.io/slurmd"}))
    assert world.told[-1]["hpc/main"].spec.slurmd.image == "registry.example.com/slurmd:1"
    assert world.verdicts[-1].problems[0].path == "spec.slurmd.image"


def test_a_bad_first_revision_starts_nothing_and_mended_it_starts():
    world, table = World(), table_of(MixingObject)
    TableSource(table, world.intake)
    table.upsert(row(localQueue=7))
    assert (world.told, world.verdicts[-1].kept) == ([], False)
    table.upsert(row(version="2"))
    assert world.names == ["hpc/main"]


def test_only_the_named_one():
    world, table = World(), table_of(MixingObject)
    TableSource(table, world.intake, only="hpc/second")
    table.upsert(row())
    table.upsert(row("second"))
    table.remove("hpc/main")
    assert world.told == [{"hpc/second": world.told[0]["hpc/second"]}]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "main.yaml"


def write(file, **spec):
    text = yaml.safe_dump(SPEC | spec)
    fresh = file.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(file)


def test_a_file_is_read_again_when_it_changes_and_only_then(file):
    world = World()
    source = FileSource(file, world.intake, namespace="hpc")
    write(file)
    source.look()
    source.look()
    assert (world.names, len(world.verdicts)) == (["hpc/main"], 1)
    write(file, localQueue="other")
    source.look()
    assert world.queue("hpc/main") == "other"


def test_a_bad_edit_of_a_file_names_field_and_line_and_keeps_the_last_good(file):
    world = World()
    source = FileSource(file, world.intake, namespace="hpc")
    write(file)
    source.look()
    file.write_text(file.read_text().replace("localQueue: hpc", "localQueu: hpc"))
    source.look()
    assert world.queue("hpc/main") == "hpc"
    texts = [str(problem) for problem in world.verdicts[-1].problems]
    assert any("localQueu (line 1)" in text and "did you mean localQueue?" in text for text in texts)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"{", b"- 1", b""])
def test_rubbish_in_the_file_is_a_problem_and_no_crash(file, content):
    world = World()
    file.write_bytes(content)
    FileSource(file, world.intake, namespace="hpc").look()
    assert world.verdicts[-1].problems
    assert world.told == []


def test_a_file_that_vanishes_keeps_the_last_good_and_comes_back(file):
    world = World()
    source = FileSource(file, world.intake, namespace="hpc")
    write(file)
    source.look()
    file.unlink()
    source.look()
    assert (world.names, world.verdicts[-1].kept) == (["hpc/main"], True)
    write(file, localQueue="back")
    source.look()
    assert world.queue("hpc/main") == "back"


def test_a_renamed_mixing_in_the_file_replaces_the_old_one(file):
    world = World()
    source = FileSource(file, world.intake, namespace="hpc")
    document = {"apiVersion": "k8s-bridge.x-k8s.io/v1alpha1", "kind": "WorkloadMixing", "spec": SPEC}
    file.write_text(yaml.safe_dump(document | {"metadata": {"name": "one"}}))
    source.look()
    assert world.names == ["hpc/one"]
    file.write_text(yaml.safe_dump(document | {"metadata": {"name": "other", "namespace": "lab"}}))
    source.look()
    assert world.names == ["lab/other"]


def test_the_file_source_notices_a_change_within_a_second_and_stops_at_once(virtual, file):
    async def main():
        world = World()
        source = FileSource(file, world.intake, namespace="hpc")
        task = asyncio.get_running_loop().create_task(source.run())
        await asyncio.sleep(0.1)
        write(file)
        await asyncio.sleep(1.1)
        assert world.names == ["hpc/main"]
        began = asyncio.get_running_loop().time()
        source.stop()
        await task
        assert asyncio.get_running_loop().time() == began

    virtual(main)
