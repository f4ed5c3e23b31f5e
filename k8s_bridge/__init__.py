"""Kueue as the single admission authority for Slurm, Ray and Kubernetes work."""
