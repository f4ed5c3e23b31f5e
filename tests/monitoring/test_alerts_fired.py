"""Each alert fires once by its cause: sandbox, bridge and Prometheus are at work, only times are shorter."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.alert_trial import fire_all, table

from monitoring.alerts import ALERTS


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_each_alert_is_fired_by_its_cause_and_says_whom_it_is_about(tmp_path: Path):
    found = await fire_all(tmp_path)
    (tmp_path / "table.md").write_text(table(found))
    assert [one.alert for one in found] == [alert.name for alert in ALERTS]
    for one in found:
        assert "<no value>" not in str(one.annotations)
        assert "{{" not in str(one.annotations)
        assert one.annotations["runbook_url"].endswith(f"#{one.alert.lower()}")
