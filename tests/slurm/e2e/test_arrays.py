from __future__ import annotations

import pytest
from support.e2e import arrays
from support.e2e.arrays import *  # noqa: F403

pytestmark = [*arrays.pytestmark, pytest.mark.slurm]
