"""With what a job is given to Ray, and what the shim makes of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from api.v1alpha1.ray import Confinement, DriverPlacement
from bench import ray_units as make
from k8s_bridge.ray import cel, names, shim, submission

RAY = {
    "ray/__init__.py": "from ray.remote_function import remote\n",
    "ray/remote_function.py": """
from ray._common import ray_option_utils
class RemoteFunction:
    def __init__(self, **options):
        self.default = options
    def remote(self):
        return self._remote(args=(), kwargs={}, **self.default)
    def _remote(self, args=None, kwargs=None, **options):
        return options
def remote(**options):
    return RemoteFunction(**options)
""",
    "ray/_common/ray_option_utils.py": "task_options = {'label_selector': None}\n",
    "ray/actor.py": """
class ActorClass:
    def _remote(self, args=None, kwargs=None, **options):
        return options
""",
    "ray/util/__init__.py": "from ray.util.placement_group import placement_group\n",
    "ray/util/placement_group.py": """
def placement_group(bundles, strategy="PACK", bundle_label_selector=None):
    return bundle_label_selector
""",
}
"""What of Ray the shim touches."""
ASK = """
import json, ray, ray.actor, ray.util
from ray.util.placement_group import placement_group
print(json.dumps({
    "task": ray.remote().remote().get("label_selector"),
    "grouped task": ray.remote(placement_group=7).remote().get("label_selector"),
    "placed task": ray.remote(scheduling_strategy="node 7").remote().get("label_selector"),
    "own": ray.remote(label_selector={"zone": "a"}).remote().get("label_selector"),
    "actor": ray.actor.ActorClass()._remote().get("label_selector"),
    "group": placement_group([{}, {}]),
    "group by package": ray.util.placement_group([{}], strategy="SPREAD"),
    "own group": placement_group([{}], bundle_label_selector=[{"zone": "a"}]),
}))
"""


def given(*, confinement=Confinement.LABELS, driver=DriverPlacement.WORKER, attempt=1, **spec):
    policy = make.SPEC.model_copy(update={"confinement": confinement, "driver_placement": driver})
    options = submission.options(make.job(**spec), spec=policy, token="secret", attempt=attempt)
    return json.loads(options[names.RESOURCES]), json.loads(options[names.RUNTIME_ENV])


def test_a_driver_is_pinned_to_its_workers_and_keeps_what_it_asked_for_itself():
    resources, _ = given(entrypointResources='{"special": 2}')

    assert resources == {"special": 2, "ray-bridge-secret": 0.001}


@pytest.mark.parametrize(
    ("confinement", "driver"),
    [(Confinement.NONE, DriverPlacement.WORKER), (Confinement.LABELS, DriverPlacement.HEAD)],
    ids=["no confinement", "a driver on the head"],
)
def test_a_driver_is_not_pinned_where_that_is_not_wanted(confinement, driver):
    resources, _ = given(confinement=confinement, driver=driver)

    assert resources == {}


def test_a_jobs_own_environment_is_kept_and_the_shim_found_first():
    text = "pip: [emoji]\nenv_vars: {A: b, PYTHONPATH: /mine}\n"
    _, environment = given(runtimeEnvYAML=text, attempt=2)

    assert environment["pip"] == ["emoji"]
    assert environment["env_vars"] == {
        "A": "b",
        "PYTHONPATH": "/tmp/ray-bridge:/mine",
        "RAY_BRIDGE_ATTEMPT": "2",
        "RAY_BRIDGE_JOB": "secret",
    }


def test_without_labels_nothing_is_laid_over_a_jobs_python():
    _, environment = given(confinement=Confinement.DRIVER)

    assert environment["env_vars"] == {"RAY_BRIDGE_ATTEMPT": "1"}


def ask(folder: Path, token: str) -> dict:
    for name, text in RAY.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "shim").mkdir()
    (folder / "shim/sitecustomize.py").write_text(shim.SOURCE)
    env = {"PYTHONPATH": f"{folder}/shim:{folder}", "RAY_BRIDGE_JOB": token}
    done = subprocess.run([sys.executable, "-c", ASK], env=env, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_the_shim_keeps_what_asks_for_no_place_on_the_jobs_workers(tmp_path):
    home, own = {names.NODE_LABEL: "secret"}, {"zone": "a"}

    assert ask(tmp_path, "secret") == {
        "task": home,
        "grouped task": None,
        "placed task": None,
        "own": own,
        "actor": home,
        "group": [home, home],
        "group by package": [home],
        "own group": [own],
    }


def test_without_a_token_the_shim_does_nothing(tmp_path):
    assert set(map(str, ask(tmp_path, "").values())) == {"None", "{'zone': 'a'}", "[{'zone': 'a'}]"}


def test_a_shim_that_was_there_before_still_runs(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import builtins; builtins.before = 1")
    (tmp_path / "shim").mkdir()
    (tmp_path / "shim/sitecustomize.py").write_text(shim.SOURCE)
    env = {"PYTHONPATH": f"{tmp_path}/shim:{tmp_path}"}

    subprocess.run([sys.executable, "-c", "assert before"], env=env, check=True)


SCRIPT = (
    "if ! ray job status --address x job-1 >/dev/null 2>&1 ; then "
    'ray job submit --address x --runtime-env-json \'{"a": "b -- c"}\' '
    '--entrypoint-resources "{\\"special\\": 2}" -- '
    "python3 -c \"print('a -- b')\" ; fi"
)
"""As KubeRay writes it."""


@pytest.mark.parametrize("released", [True, False], ids=["let go", "let pass"])
def test_the_submitters_own_options_come_last_and_so_they_win(tmp_path, released):
    (tmp_path / "ray").write_text('#!/bin/bash\n[ "$2" = status ] && exit 1\nprintf "%s\\n" "$@"\n')
    (tmp_path / "ray").chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    if released:
        env |= {"RAY_BRIDGE_RESOURCES": '{"pin": 1}', "RAY_BRIDGE_RUNTIME_ENV": '{"b": 1}'}

    done = subprocess.run(
        ["/bin/bash", "-ce", "--", cel.WRAPPER + SCRIPT], env=env, capture_output=True, text=True, check=True
    )

    words = done.stdout.splitlines()
    ours = ["--entrypoint-resources", '{"pin": 1}', "--runtime-env-json", '{"b": 1}'] if released else []
    end = ["--entrypoint-resources", '{"special": 2}', *ours, "--", "python3", "-c", "print('a -- b')"]
    assert words[-len(end) :] == end
