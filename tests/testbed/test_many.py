from __future__ import annotations

import pytest
from support.e2e import many
from support.e2e.many import *  # noqa: F403

pytestmark = [many.pytestmark, pytest.mark.testbed]
