"""Mutating and validating admission policies, carried out as the API server does it."""
