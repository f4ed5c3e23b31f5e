"""Scenarios with committed budgets, run against any bridge and measured from outside it."""
