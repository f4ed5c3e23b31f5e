from __future__ import annotations

import pytest
from support.e2e import het
from support.e2e.het import *  # noqa: F403

pytestmark = [*het.pytestmark, pytest.mark.slurm]
