"""What a RayJob gives to Ray by itself: documents in text fields. Pure."""

from __future__ import annotations

import json
from typing import Any

import yaml

from api.ray_views import RayJob


def resources_of(job: RayJob) -> dict[str, float]:
    """The job's own entrypointResources. ValueError when they are no object of numbers."""
    text = job.spec.entrypoint_resources.strip()
    found = json.loads(text) if text else {}
    if not isinstance(found, dict) or not all(isinstance(value, int | float) for value in found.values()):
        raise ValueError("entrypointResources is not an object of numbers")
    return found


def runtime_env_of(job: RayJob) -> dict[str, Any]:
    """The job's own runtime environment. ValueError when it is no mapping."""
    try:
        found = yaml.safe_load(job.spec.runtime_env_yaml) or {}
    except yaml.YAMLError as error:
        raise ValueError(f"runtimeEnvYAML is not YAML: {error}") from error
    if not isinstance(found, dict):
        raise ValueError("runtimeEnvYAML is not a mapping")  # noqa: TRY004  # a value of a document
    return found
