"""What the documents take from the code is what the code says, and what they link to is there."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


def generator(name="generate"):
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / "docs" / f"{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_are_what_code_and_tests_say():
    docs = generator()
    pages = docs.pages()
    assert {page.name: page.read_text() == text for page, text in pages.items()} == dict.fromkeys(
        (page.name for page in pages), True
    ), "stale: run `make docs`"
    assert "| Evicted |" in (docs.DOCS / "architecture.md").read_text()
    assert "| `hold JOB` | its owner | runs |" in (docs.DOCS / "scontrol.md").read_text()


def test_pictures_of_the_terminal_are_what_the_commands_show():
    pictures = generator("terminal").pictures()
    stale = [path.name for path, text in pictures.items() if path.read_text() != text]
    assert stale == [], "run `make docs`"
    assert all("url(" not in text.replace("url(#", "") for text in pictures.values()), "nothing is fetched"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?://)([\w./-]+)[)#]", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_in_backticks_exist(page):
    for path in re.findall(r"`((?:k8s_bridge|api|tests|bench|docs|scripts)/[\w/.]*)`", page.read_text()):
        assert (ROOT / path).exists(), f"{page.name} names {path}"


def test_every_make_target_in_the_documents_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        named = set(re.findall(r"`make ([a-z-]+)`|^make ([a-z-]+)", page.read_text(), re.MULTILINE))
        assert {a or b for a, b in named} <= targets, page.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_tests_that_a_page_rests_on_are_there(page):
    for path, _, test in re.findall(r"`(tests/[\w/.]+\.py)(::(test_\w+))?`", page.read_text()):
        assert (ROOT / path).exists(), f"{page.name} names {path}"
        assert not test or f"def {test}(" in (ROOT / path).read_text(), f"{page.name} names {test}"
