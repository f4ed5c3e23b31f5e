from __future__ import annotations

import pytest
from support import chart


@pytest.fixture(autouse=True, scope="session")
def helm() -> None:
    if chart.helm() is None:
        pytest.skip("NO HELM HERE: the chart is not tested (make testbed builds one)")
