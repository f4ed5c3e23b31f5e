"""The tables of checks. Each check is a small pure function: from what was seen to a verdict and a cure."""
