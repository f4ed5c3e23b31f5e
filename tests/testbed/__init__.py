"""Real Kubernetes, Kueue, JobSet and Slurm on one machine, without a container engine on it."""
