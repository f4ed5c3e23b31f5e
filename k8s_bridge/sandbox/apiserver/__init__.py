"""The embedded Kubernetes API server: storage with the real one's semantics, and its HTTP face."""
