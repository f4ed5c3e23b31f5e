"""The WorkloadMixing of a file, for commands that need no cluster."""

from __future__ import annotations

from pathlib import Path

from api.load import load_file
from api.problems import InvalidWorkloadMixing
from api.v1alpha1.workloadmixing import WorkloadMixing
from k8s_bridge.cli.output import Exit, fail


def slurm_mixing_of(path: Path) -> WorkloadMixing:
    """The same, of a Slurm cluster. Ends the command when it is for Ray alone."""
    return with_slurm(mixing_of(path), where=str(path))


def with_slurm(mixing: WorkloadMixing, *, where: str) -> WorkloadMixing:
    """The WorkloadMixing of a Slurm cluster. Ends the command when it is for Ray alone."""
    if not mixing.spec.has_slurm:
        fail(f"{where}: names no Slurm cluster, only ray; give a WorkloadMixing of one.", code=Exit.USAGE)
    return mixing


def mixing_of(path: Path) -> WorkloadMixing:
    """The resource in `path`. Ends the command with every problem and its line when it cannot be used."""
    try:
        return load_file(path.read_text(encoding="utf-8"), name=path.stem)
    except InvalidWorkloadMixing as error:
        fail("\n".join(f"{path}: {problem}" for problem in error.problems), code=Exit.USAGE)
    except (OSError, UnicodeError) as error:
        fail(f"--config: {path} cannot be read: {error}", code=Exit.USAGE)
