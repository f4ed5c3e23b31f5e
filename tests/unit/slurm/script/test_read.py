from __future__ import annotations

import pytest

from k8s_bridge.slurm.layout import Exclusive, Layout, NodeShape, Refusal, plan
from k8s_bridge.slurm.script import Identity, ScriptError, read

ME = Identity(job_id=7, user_name="ada", user_id=1000, name="run.sh", partition="mixing")


def jobs(options="", *, arguments=(), environment=None):
    lines = "".join(f"#SBATCH {line}\n" for line in options.splitlines())
    script = f"#!/bin/bash\n{lines}srun ./app\n"
    found = read(script, environment=environment or {}, arguments=arguments, identity=ME)
    return [component.job for component in found]


def job(options="", **more):
    (found,) = jobs(options, **more)
    return found


def layout(options, *, shape=None):
    found = plan(job(options), node_shape=shape, exclusive=Exclusive.AS_ASKED)
    assert isinstance(found, Layout), found
    return [(g.count, g.tasks, g.shape.cpus, g.shape.memory, g.shape.gres) for g in found.groups]


@pytest.mark.parametrize(
    ("options", "groups"),
    [
        ("", [(1, 1, 1, 0, ())]),
        ("-N2 -n4", [(2, 2, 2, 0, ())]),
        ("--mem=4G", [(1, 1, 1, 4096, ())]),
        ("-N2 --gres=gpu:a100:2", [(2, 1, 1, 0, (("gpu", "a100", 2),))]),
        ("-N2 -n3 -c2 --mem-per-cpu=1G", [(1, 2, 4, 4096, ()), (1, 1, 2, 2048, ())]),
        ("--gpus=4 --gpus-per-node=2", [(2, 1, 1, 0, (("gpu", "", 2),))]),
        ("-n2 --gpus-per-task=1 --cpus-per-gpu=4", [(1, 2, 8, 0, (("gpu", "", 2),))]),
        ("--ntasks-per-node=4 -N3", [(3, 4, 4, 0, ())]),
        ("-n7 --tasks-per-node=3", [(3, 3, 3, 0, ())]),
        ("-N4 -n2", [(2, 1, 1, 0, ())]),
    ],
)
def test_a_script_has_the_layout_of_its_options(options, groups):
    assert layout(options) == groups


def test_a_bare_job_is_packed_but_not_one_that_names_nodes():
    shape = NodeShape(cpus=4)
    assert sum(count for count, *_ in layout("-n8", shape=shape)) == 2
    assert sum(count for count, *_ in layout("-N2 -n8", shape=shape)) == 2
    assert sum(count for count, *_ in layout("-N4 -n8", shape=shape)) == 4


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ("-w n1", "--nodelist"),
        ("-F hosts", "--nodelist"),
        ("-x n1", "--exclude"),
        ("--threads-per-core=2", "--threads-per-core"),
        ("-B 2", "--sockets-per-node"),
        ("-O -n4", "--overcommit"),
        ("--ntasks-per-gpu=2 --gpus=2", "--ntasks-per-gpu"),
        ("-C 'a|b'", "--constraint"),
        ("--mem=0", "--mem=0"),
        ("--mem-per-cpu=0", "--mem=0"),
        ("--reboot", "--reboot"),
        ("--gres-flags=enforce-binding", "--gres-flags=enforce-binding"),
    ],
)
def test_what_cannot_be_met_is_refused_by_name(options, option):
    found = plan(job(options), node_shape=None, exclusive=Exclusive.AS_ASKED)
    assert isinstance(found, Refusal)
    assert found.option == option


def test_who_and_where():
    found = job("-A Proj -q high -J name --wckey=Key --comment='two words' -t 1:00:00 --no-requeue -p a,b")
    assert (found.job_id, found.user_name, found.user_id) == (7, "ada", 1000)
    assert (found.account, found.qos, found.wckey) == ("proj", "high", "key")
    assert (found.name, found.comment, found.partition) == ("name", "two words", "a,b")
    assert (found.time_limit, found.requeue, found.held) == (60, False, True)
    assert (job().name, job().partition, job().requeue) == ("run.sh", "mixing", True)


def test_the_command_line_wins_over_variables_and_they_over_the_script():
    script, environment = "--gres=gpu:1\n-t 1", {"SBATCH_GRES": "gpu:2", "SBATCH_TIMELIMIT": "2"}
    found = job(script, environment=environment, arguments=("--gres=gpu:3",))
    assert (found.tres_per_node, found.time_limit) == ("gres/gpu:3", 2)


def test_memory_of_the_script_is_not_mixed_with_that_of_a_variable():
    found = job("--mem=10", environment={"SBATCH_MEM_PER_CPU": "100"})
    assert (found.memory_per_node, found.memory_per_cpu) == (10, None)
    found = job("--mem-per-cpu=10", environment={"SBATCH_MEM_PER_NODE": "100"})
    assert (found.memory_per_node, found.memory_per_cpu) == (None, 10)


@pytest.mark.parametrize(
    ("value", "shares"), [("", True), ("yes", True), ("2", True), ("0", False), ("no", False)]
)
def test_the_variable_of_a_flag_can_say_no(value, shares):
    found = job("-n4\n-O", environment={"SBATCH_OVERCOMMIT": value})
    assert (found.cpus == 1) is shares


def test_components_of_a_het_job_keep_what_is_not_about_their_size():
    first, second = jobs("-n2 -A acc --mem=10 -C x\nhetjob\n-N2")
    assert (first.het_job_id, first.het_job_offset, first.job_id) == (7, 0, 7)
    assert (second.het_job_id, second.het_job_offset, second.job_id) == (7, 1, 8)
    assert (second.account, second.memory_per_node, second.features, second.tasks) == ("acc", 10, "", 2)


def test_components_of_the_command_line_join_those_of_the_script():
    found = jobs("-c2\nhetjob\n-c3", arguments=("-n2", ":", "-N2", ":", "-n4"))
    assert [(one.tasks, one.cpus_per_task) for one in found] == [(2, 2), (2, 3), (4, 1)]
    assert [one.tasks for one in jobs("-c2\nhetjob\n-c3", arguments=("-n2",))] == [2, 2]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("foo", "line 2: 'foo' is no option"),
        ("-n 0", "line 2: --ntasks: '0' is not a whole number"),
        ("--mem=1 --mem-per-cpu=1", "exclude each other"),
        ("--exclusive -s", "exclude each other"),
        ("--gpus=1 -N2", "gpu is asked for fewer than nodes"),
        ("--gpus=5 --gpus-per-node=2", "for the job and for a node"),
        ("--gpus-per-task=1", "without --ntasks or --gpus"),
        ("--gpus-per-task=1 --tres-per-task=gres/gpu:1 -n2", "exclude each other"),
        ("--cpus-per-gpu=2", "need a number of GPUs"),
        ("--cpus-per-gpu=2 -c2 --gpus=1", "exclude each other"),
        ("--gres=gpu:a:b:c", "is not a GRES"),
        ("--gpus=a100:2 --gres=gpu:1", "with and without a type"),
        ("--hint=fast", "--hint knows"),
        ("--tres-per-task=mem=1 -n2", "cannot be of mem"),
        ("--ntasks-per-gpu=2 -n5", "multiple"),
    ],
)
def test_what_sbatch_would_not_submit_is_said(options, says):
    with pytest.raises(ScriptError, match=says):
        job(options)


def test_an_option_of_a_plugin_is_kept_to_be_shown():
    (component,) = read("#!/bin/sh\n#SBATCH --x11-proxy=on -n2\n", environment={}, arguments=(), identity=ME)
    unknown = [given.typed.text for given, _ in component.given if given.typed.option is None]
    assert unknown == ["--x11-proxy=on"]
    assert component.job.tasks == 2


def test_what_was_overridden_is_told():
    (component,) = read(
        "#!/bin/sh\n#SBATCH -n2 --mem=1\n",
        environment={"SBATCH_MEM_PER_CPU": "1"},
        arguments=("-n3",),
        identity=ME,
    )
    told = [(given.typed.text, given.typed.where, in_force) for given, in_force in component.given]
    assert told == [
        ("--ntasks=2", "line 2", False),
        ("--mem=1", "line 2", True),
        ("--mem-per-cpu=1", "SBATCH_MEM_PER_CPU", False),
        ("--ntasks=3", "command line", True),
    ]


def test_lines_for_another_batch_system_are_not_guessed_at():
    script = "#!/bin/sh\n#PBS -l nodes=2\n"
    with pytest.raises(ScriptError, match="line 2: sbatch would translate"):
        read(script, environment={}, arguments=(), identity=ME)
    (component,) = read(script, environment={}, arguments=("--ignore-pbs",), identity=ME)
    assert component.job.node_count == 1


def test_a_file_of_host_names_counts_where_no_nodes_are_named():
    assert job(environment={"SLURM_HOSTFILE": "hosts"}).required_nodes == "hosts"
    assert job("-w n1", environment={"SLURM_HOSTFILE": "hosts"}).required_nodes == "n1"


def test_a_hint_goes_on_to_the_next_component_as_sbatch_leaves_it_in_its_environment():
    first, second = jobs("--hint=memory_bound\nhetjob")
    assert (first.threads_per_core, second.threads_per_core) == (1, 1)


def test_a_range_of_nodes_bounds_what_tasks_may_fill():
    found = plan(job("-N1-3 -n8"), node_shape=NodeShape(cpus=1), exclusive=Exclusive.AS_ASKED)
    assert isinstance(found, Refusal)
    assert found.option == "--nodes"


def test_cpus_that_gpus_bring_are_counted():
    assert job("--cpus-per-gpu=2 --gpus=3").cpus == 6
    assert job("--cpus-per-gpu=2 --gpus=3 -n8").cpus == 8
