"""The Kubernetes side: transport, auth, reflector, store, apply, lease, events."""
