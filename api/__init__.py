"""The contract: types only, importable by anyone, no I/O."""
