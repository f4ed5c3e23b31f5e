"""What inner jobs run on the testbed."""

from __future__ import annotations

import shlex


def sleeping(seconds: float) -> str:
    """A driver that sleeps."""
    return _python(f"import time; time.sleep({seconds})")


def until_preempted() -> str:
    """A driver that says its attempt: the first lasts until it is ended, any later one is over at once."""
    return _python(
        "import os, time; attempt = os.environ.get('RAY_BRIDGE_ATTEMPT'); print('attempt', attempt); "
        "time.sleep(600 if attempt == '1' else 1)"
    )


def census() -> str:
    """Prints, as the last line, on whose workers tasks, nested tasks, actors and a placement group ran."""
    return _python(_CENSUS)


def strangers(seconds: float) -> str:
    """Spreads tasks all over the cluster, wherever they fit."""
    task = f"ray.remote(num_cpus=0.1, scheduling_strategy='SPREAD')(lambda: time.sleep({seconds}))"
    return _python(f"import ray, time; ray.init(); f = {task}; ray.get([f.remote() for _ in range(9)])")


def _python(text: str) -> str:
    return f"python3 -c {shlex.quote(text)}"


_CENSUS = """
import json, time, ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

ray.init()
alive = [node for node in ray.nodes() if node["Alive"]]
own = {node["NodeID"] for node in alive if "ray-bridge.x-k8s.io/job" in (node.get("Labels") or {})}


@ray.remote(num_cpus=0.1)
def where(seconds=1.0):
    time.sleep(seconds)
    return ray.get_runtime_context().get_node_id()


@ray.remote(num_cpus=0.1)
def nested():
    return ray.get([where.remote(0.5) for _ in range(2)])


@ray.remote(num_cpus=0.1)
class Actor:
    def where(self):
        return ray.get_runtime_context().get_node_id()


def counted(nodes):
    return sum(node in own for node in nodes), len(nodes)


found = {"driver": counted([ray.get_runtime_context().get_node_id()])}
found["tasks"] = counted(ray.get([where.options(scheduling_strategy="SPREAD").remote() for _ in range(12)]))
found["nested"] = counted([n for pair in ray.get([nested.remote() for _ in range(4)]) for n in pair])
actors = [Actor.options(scheduling_strategy="SPREAD").remote() for _ in range(4)]
found["actors"] = counted(ray.get([actor.where.remote() for actor in actors]))
group = placement_group([{"CPU": 0.1}, {"CPU": 0.1}], strategy="SPREAD")
ray.get(group.ready())
placed = PlacementGroupSchedulingStrategy(placement_group=group)
found["group"] = counted(ray.get([where.options(scheduling_strategy=placed).remote() for _ in range(2)]))
print(json.dumps(found))
"""
