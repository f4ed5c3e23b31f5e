"""What metadata may look like: names, labels, annotations. The texts are the real server's. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from k8s_bridge.sandbox.apiserver.errors import Json

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    "for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_LONGEST = 63
_ANNOTATIONS = 256 * 1024
"""Bytes of all annotations together."""

Cause = tuple[str, str, str]


def causes(meta: Json) -> list[Cause]:
    """Everything that is wrong with labels and annotations."""
    labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
    texts = [text for key, value in labels.items() for text in (*_of_key(key), *_of_value(value))]
    found = [("metadata.labels", "FieldValueInvalid", text) for text in texts]
    keys = (text for key in annotations for text in _of_key(key.lower()))
    found += [("metadata.annotations", "FieldValueInvalid", text) for text in keys]
    if sum(len(key) + len(value.encode()) for key, value in annotations.items()) > _ANNOTATIONS:
        text = f"Too long: may not be more than {_ANNOTATIONS} bytes"
        found.append(("metadata.annotations", "FieldValueTooLong", text))
    return found


def wrong_type(meta: Json) -> str:
    """The map that has a value that is no string, as Go names it; "" if none has."""
    for field in ("labels", "annotations"):
        if not all(isinstance(value, str) for value in (meta.get(field) or {}).values()):
            return field
    return ""


@lru_cache(maxsize=4096)
def _of_key(key: str) -> tuple[str, ...]:
    prefix, slash, name = key.rpartition("/")
    return tuple(_key_faults(key, prefix=prefix, slash=slash, name=name))


def _key_faults(key: str, *, prefix: str, slash: str, name: str) -> Iterator[str]:
    if slash and not _PREFIX.fullmatch(prefix):
        yield f'Invalid value: "{key}": prefix part {"is not a DNS name" if prefix else "must be non-empty"}'
    if len(name) > _LONGEST:
        yield f'Invalid value: "{key}": name part must be no more than {_LONGEST} bytes'
    if not _NAME.fullmatch(name):
        yield f'Invalid value: "{key}": {_NAME_TEXT}'


@lru_cache(maxsize=4096)
def _of_value(value: str) -> tuple[str, ...]:
    if len(value) > _LONGEST:
        return (f'Invalid value: "{value}": must be no more than {_LONGEST} bytes',)
    if value and not _NAME.fullmatch(value):
        return (f'Invalid value: "{value}": {_VALUE_TEXT}',)
    return ()
