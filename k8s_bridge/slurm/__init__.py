"""The Slurm bridge: client, poller, layout, decide, act."""
