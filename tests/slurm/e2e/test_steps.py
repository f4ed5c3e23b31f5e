from __future__ import annotations

import pytest
from support.e2e import steps
from support.e2e.steps import *  # noqa: F403

pytestmark = [steps.pytestmark, pytest.mark.slurm]
