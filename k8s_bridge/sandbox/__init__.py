"""The embedded world used by the demo, the tests and scale experiments."""
