"""What is wrong with queues, classes and topologies: the same for every bridge, see core.preflight."""

from k8s_bridge.core.preflight import class_trouble, queue_trouble, topology_trouble

__all__ = ["class_trouble", "queue_trouble", "topology_trouble"]
