"""The small program that keeps a job's tasks, actors and placement groups on the job's own workers.

It is written into each worker as `sitecustomize.py` and reached by PYTHONPATH, so every Python process of the
job runs it at its start. It is cooperation, not a security boundary: a job can take it away.
"""

from __future__ import annotations

from k8s_bridge.ray import names

VARIABLE = "RAY_BRIDGE_JOB"
"""Environment of the job's processes: the token of its workers. Without it the shim does nothing."""

SOURCE = f'''\
"""Written by the Ray bridge: what asks for no place of its own runs on the workers of this job."""
import functools, importlib, importlib.abc, importlib.machinery, importlib.util, os, sys

_LABEL, _TOKEN = "{names.NODE_LABEL}", os.environ.get("{VARIABLE}", "")


def _confined(options):
    placed = options.get("scheduling_strategy") not in (None, "DEFAULT", "SPREAD")
    grouped = options.get("placement_group") not in (None, "default")
    if not placed and not grouped and not options.get("label_selector"):
        options["label_selector"] = {{_LABEL: _TOKEN}}
    return options


def _wrapped(call):
    @functools.wraps(call)
    def remote(self, args=None, kwargs=None, *others, **options):
        return call(self, args, kwargs, *others, **_confined(options))

    return remote


def _grouped(call):
    @functools.wraps(call)
    def placement_group(bundles, *others, **options):
        if not options.get("bundle_label_selector"):
            options["bundle_label_selector"] = [{{_LABEL: _TOKEN}} for _ in bundles]
        return call(bundles, *others, **options)

    return placement_group


def _install():
    module = importlib.import_module("ray.remote_function")
    if "label_selector" not in module.ray_option_utils.task_options:
        raise RuntimeError("this Ray has no label selectors; use one that has, or confinement: driver")
    functions = module.RemoteFunction
    functions._remote = _wrapped(functions._remote)
    actors = importlib.import_module("ray.actor").ActorClass
    actors._remote = _wrapped(actors._remote)
    module = importlib.import_module("ray.util.placement_group")
    module.placement_group = _grouped(module.placement_group)
    importlib.import_module("ray.util").placement_group = module.placement_group


class _Loader(importlib.abc.Loader):
    def __init__(self, inner):
        self._inner = inner

    def create_module(self, spec):
        return self._inner.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._inner
        self._inner.exec_module(module)
        try:
            _install()
        except Exception as error:
            print("ray-bridge: this job is not kept on its own workers:", repr(error), file=sys.stderr)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != "ray":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def _others():
    """A sitecustomize that was there before goes on as it did."""
    here = os.path.dirname(os.path.abspath(__file__))
    path = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if _TOKEN:
    sys.meta_path.insert(0, _Finder())
_others()
'''
"""The program's text."""
