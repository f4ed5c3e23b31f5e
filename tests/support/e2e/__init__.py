"""Scenarios over a whole world, written once for the fake Slurm and for real ones."""
