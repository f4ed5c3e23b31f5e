from __future__ import annotations

import pytest
from support.e2e import outages
from support.e2e.outages import *  # noqa: F403

pytestmark = [outages.pytestmark, pytest.mark.testbed]
