from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parents[2] / "fixtures" / "workloadmixing"


@pytest.fixture
def text() -> Callable[[str], str]:
    """The text of a sample resource by its name."""
    return lambda name: (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")


@pytest.fixture
def sample(text) -> Callable[[str], dict[str, Any]]:
    """A fresh sample resource by its name."""
    return lambda name: yaml.safe_load(text(name))
