from __future__ import annotations

import importlib.util

import pytest
from support.chart import PROJECT

spec = importlib.util.spec_from_file_location("charts_generate", PROJECT / "charts/generate.py")
generate = importlib.util.module_from_spec(spec)
spec.loader.exec_module(generate)


@pytest.mark.parametrize("path", generate.outputs(), ids=lambda path: path.name)
def test_what_the_chart_takes_from_the_models_is_what_they_say(path):
    assert path.read_text(encoding="utf-8") == generate.outputs()[path], "stale: run `make docs`"
