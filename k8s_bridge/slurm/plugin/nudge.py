"""The script that tells a running bridge to look at Slurm now."""

from __future__ import annotations

import shlex

from k8s_bridge.slurm.plugin.script import MARK

SECONDS = 2
"""A bridge that does not answer is given up after this long."""


def nudge_script(address: str) -> str:
    """An EpilogSlurmctld that POSTs /nudge to `address`, such as http://bridge:8080.

    slurmctld keeps a job completing until the script ends, so it only starts curl, in a session of its own:
    what is left in the script's process group is killed with it.
    """
    url = shlex.quote(f"{address.rstrip('/')}/nudge")
    return f"""\
#!/bin/sh
# {MARK}: an EpilogSlurmctld that never waits and never fails. The bridge polls anyway.
exec </dev/null >/dev/null 2>&1
PATH=/usr/local/bin:/usr/bin:/bin
setsid curl --silent --max-time {SECONDS} --request POST {url} &
exit 0
"""
