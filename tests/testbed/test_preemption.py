from __future__ import annotations

import pytest
from support.e2e import preemption
from support.e2e.preemption import *  # noqa: F403

pytestmark = [preemption.pytestmark, pytest.mark.testbed]
