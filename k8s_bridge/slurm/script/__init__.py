"""A batch script, read as sbatch reads it, as the records that slurmrestd would show. Pure."""

from __future__ import annotations

from k8s_bridge.slurm.script.effects import Effect, Fate, effects
from k8s_bridge.slurm.script.errors import ScriptError
from k8s_bridge.slurm.script.record import Identity
from k8s_bridge.slurm.script.recorded import given_of
from k8s_bridge.slurm.script.settings import Given
from k8s_bridge.slurm.script.submission import Component, read

__all__ = ["Component", "Effect", "Fate", "Given", "Identity", "ScriptError", "effects", "given_of", "read"]
