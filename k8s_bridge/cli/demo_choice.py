"""Which Slurm the demo runs on, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from k8s_bridge.cli.output import Exit, fail
from k8s_bridge.sandbox.slurm_real import available, installed
from k8s_bridge.sandbox.slurm_real.release import RELEASES
from k8s_bridge.sandbox.world import Backend

_FAKE_RELEASE = "24.11"


class SlurmChoice(StrEnum):
    """What `--slurm` may say."""

    AUTO = "auto"
    FAKE = "fake"
    REAL = "real"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What was chosen; `title` names it in a few words, `text` says why."""

    backend: Backend
    release: str
    title: str
    text: str


def choose(wish: SlurmChoice, release: str | None) -> Choice:
    """The Slurm to run on. Ends the command when what was asked for cannot run here."""
    if wish is SlurmChoice.FAKE:
        return _fake(release, "A fake Slurm, as you asked.")
    if wish is SlurmChoice.REAL:
        return _wanted(release or _FAKE_RELEASE)
    here = [name for name in ([release] if release else RELEASES) if not available(name) and installed(name)]
    if here:
        return _real(here[0], f"Slurm {here[0]} is installed here: the daemons are real.")
    why = available(release or _FAKE_RELEASE) or "its packages are not here yet: --slurm real fetches them"
    return _fake(release, f"A fake Slurm plays along ({why}).")


def _wanted(release: str) -> Choice:
    obstacle = available(release)
    if obstacle:
        fail(
            f"Slurm {release} cannot run here: {obstacle}.\n"
            "Use --slurm fake, or another --release, or run as root on Debian or Ubuntu.",
            code=Exit.USAGE,
        )
    note = "" if installed(release) else " It is fetched first, which takes a minute."
    return _real(release, f"Slurm {release} with real daemons.{note}")


def _real(release: str, text: str) -> Choice:
    return Choice(backend=Backend.REAL, release=release, title=f"Slurm {release}, real daemons", text=text)


def _fake(release: str | None, text: str) -> Choice:
    chosen = release or _FAKE_RELEASE
    return Choice(backend=Backend.FAKE, release=chosen, title=f"Slurm {chosen}, fake", text=text)
