from __future__ import annotations

import pytest
from support.e2e import trouble
from support.e2e.trouble import *  # noqa: F403

pytestmark = [trouble.pytestmark, pytest.mark.testbed]
