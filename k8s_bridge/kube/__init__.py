"""The Kubernetes side: transport, credentials, reflectors and their tables, the leader lease, events."""
