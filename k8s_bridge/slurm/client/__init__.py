"""The slurmrestd client: one lean model, one small map per API version."""
