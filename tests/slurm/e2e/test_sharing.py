from __future__ import annotations

import pytest
from support.e2e import sharing
from support.e2e.sharing import *  # noqa: F403

pytestmark = [sharing.pytestmark, pytest.mark.slurm]
