from __future__ import annotations

import re

import pytest
import yaml

from api import generate
from api.load import InvalidWorkloadMixing, load_file
from api.tables import docs_tables

STALE = "stale: run `python -m api.generate`"


@pytest.mark.parametrize("path", generate.outputs(), ids=lambda path: path.name)
def test_committed_files_are_what_the_models_say(path):
    assert path.read_text(encoding="utf-8") == generate.outputs()[path], STALE


def test_only_what_differs_is_written_and_named(tmp_path, monkeypatch, capsys):
    stale, fresh = tmp_path / "made" / "stale", tmp_path / "fresh"
    fresh.write_text("right")
    monkeypatch.setattr(generate, "outputs", lambda: {stale: "new", fresh: "right"})
    generate.main()
    assert (stale.read_text(), capsys.readouterr().out) == ("new", "wrote stale\n")
    generate.main()
    assert capsys.readouterr().out == ""


def test_a_page_without_markers_is_refused_not_overwritten():
    with pytest.raises(ValueError, match="must contain"):
        generate.with_tables("# no markers")


def test_tables_say_default_bounds_and_meaning():
    tables = docs_tables()
    assert (
        "| `createWorkers` | integer | `8` | 0-256 | Effects that run at a time. 0: the default. |" in tables
    )
    assert "| `partitionName` | string | *required* |" in tables
    assert "| `memoryOverhead` | memory size | `256Mi` |" in tables
    assert "### `spec.partitionMappings[].queueRules[]`" in tables


def test_tables_keep_their_columns_even_with_bars_in_patterns():
    for line in docs_tables().splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) == 6, line


def samples():
    (page,) = (path for path in generate.outputs() if path.suffix == ".md")
    return page.read_text(encoding="utf-8")


def test_the_sample_in_the_docs_loads():
    (sample,) = re.findall(r"```yaml\n(.*?)```", samples(), re.DOTALL)
    assert load_file(sample).metadata.name == yaml.safe_load(sample)["metadata"]["name"]


def test_the_errors_in_the_docs_are_the_errors_one_gets():
    text = (
        "slurmRestURL: https://slurm:6820\nlocalQueue: main\npollInterval: 500ms\n"
        "slurmTokenFile: /t\npartitionMappings:\n- partitionName: a\n  workloadPriorityClass: n\n"
        "# the second has no class\n- partitionName: b\nslurmd:\n  image: x\n  imge: y\n"
        "  confServer: slurm:6817\n  authSecretName: slurm-auth\n"
    )
    with pytest.raises(InvalidWorkloadMixing) as caught:
        load_file(text)
    (shown,) = re.findall(r"```text\n(.*?)```", samples(), re.DOTALL)
    assert str(caught.value) == shown.strip()
