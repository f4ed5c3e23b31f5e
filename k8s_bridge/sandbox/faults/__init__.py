"""What may go wrong in a world, as a table, and the engine that makes it so."""

from __future__ import annotations

from k8s_bridge.sandbox.faults.engine import FaultEngine
from k8s_bridge.sandbox.faults.model import Bridges, Fault, Scene, Side
from k8s_bridge.sandbox.faults.table import FAULTS, named

__all__ = ["FAULTS", "Bridges", "Fault", "FaultEngine", "Scene", "Side", "named"]
