"""Real Kubernetes, Kueue, JobSet, KubeRay and Slurm on one machine, without a container engine on it."""
