"""The WorkloadMixing of a file, for commands that need no cluster."""

from __future__ import annotations

from pathlib import Path

from api.load import load_file
from api.problems import InvalidWorkloadMixing
from api.v1alpha1.workloadmixing import WorkloadMixing
from k8s_bridge.cli.output import Exit, fail


def mixing_of(path: Path) -> WorkloadMixing:
    """The resource in `path`. Ends the command with every problem and its line when it cannot be used."""
    try:
        return load_file(path.read_text(encoding="utf-8"), name=path.stem)
    except InvalidWorkloadMixing as error:
        fail("\n".join(f"{path}: {problem}" for problem in error.problems), code=Exit.USAGE)
    except (OSError, UnicodeError) as error:
        fail(f"--config: {path} cannot be read: {error}", code=Exit.USAGE)
