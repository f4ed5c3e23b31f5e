"""What a RayJob gives to Ray by itself: documents in text fields. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import yaml

from api.ray_views import RayJob

LONGEST = 2**16
"""Characters of either document: each is read whenever its job is looked at."""


class _Loader(yaml.SafeLoader):
    """Without aliases: ten lines of them are gigabytes once they are written as JSON."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("it has aliases, which are not taken: write out what they stand for")
        return super().compose_node(parent, index)


def resources_of(job: RayJob) -> dict[str, float]:
    """The job's own entrypointResources. ValueError when they are no object of numbers."""
    text = job.spec.entrypoint_resources.strip()
    found = _read("entrypointResources", text, json.loads) if text else {}
    if not isinstance(found, dict) or not all(isinstance(value, int | float) for value in found.values()):
        raise ValueError("entrypointResources is not an object of numbers")
    return found


def runtime_env_of(job: RayJob) -> dict[str, Any]:
    """The job's own runtime environment. ValueError when it is no mapping, or none that JSON can say."""
    found = _read("runtimeEnvYAML", job.spec.runtime_env_yaml, _yaml) or {}
    if not isinstance(found, dict):
        raise ValueError("runtimeEnvYAML is not a mapping")  # noqa: TRY004  # a value of a document
    if not isinstance(found.get("env_vars") or {}, dict):
        raise ValueError("env_vars of runtimeEnvYAML is not a mapping")  # noqa: TRY004  # the same
    return found


def _yaml(text: str) -> Any:
    try:
        found = yaml.load(text, Loader=_Loader)  # noqa: S506  # a SafeLoader
        json.dumps(found)
    except (yaml.YAMLError, TypeError) as error:
        raise ValueError(f"is not YAML of JSON's types: {error}") from error
    return found


def _read(name: str, text: str, read: Callable[[str], Any]) -> Any:
    if len(text) > LONGEST:
        raise ValueError(f"{name} has more than {LONGEST} characters")
    try:
        return read(text)
    except RecursionError:
        raise ValueError(f"{name} nests too deep") from None
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
