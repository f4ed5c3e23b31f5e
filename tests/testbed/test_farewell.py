from __future__ import annotations

import pytest
from support.e2e import farewell
from support.e2e.farewell import *  # noqa: F403

pytestmark = [farewell.pytestmark, pytest.mark.testbed]
