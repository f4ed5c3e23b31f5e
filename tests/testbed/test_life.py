from __future__ import annotations

import pytest
from support.e2e import life
from support.e2e.life import *  # noqa: F403

pytestmark = [life.pytestmark, pytest.mark.testbed]
