"""The Ray bridge: each inner RayJob of a shared RayCluster has workers of its own that Kueue admits."""
