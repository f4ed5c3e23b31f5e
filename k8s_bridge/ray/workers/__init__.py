"""The JobSet of a job's workers, made like those of its RayCluster. Pure."""

from k8s_bridge.ray.workers.like import Like, like_of
from k8s_bridge.ray.workers.manifest import Owner, render_workers, shape_of

__all__ = ["Like", "Owner", "like_of", "render_workers", "shape_of"]
