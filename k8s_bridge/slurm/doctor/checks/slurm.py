"""Checks of Slurm as slurmrestd shows it: reachable, willing, of a known version, with partitions. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from k8s_bridge.runtime.doctor.verdict import Check, Finding, Hidden, doubtful, fine, unseen, wrong
from k8s_bridge.slurm.doctor.checks.conf import CONF
from k8s_bridge.slurm.doctor.sight import SlurmSight

OLDEST, TESTED = (22, 5), ("22.05", "24.11")
ROOT = "root"
SKEW = 30
"""Seconds that two clocks may differ before it is said."""
_HOUR = 3_600
_NO_ACCOUNTING = ("", "accounting_storage/none")
_ALL = "ALL"


def reachable(sight: SlurmSight) -> Iterator[Finding]:
    """Slurmrestd answers, and slurmctld behind it."""
    url = sight.mixing.spec.slurm_rest_url
    reason, text = sight.trouble.get("ping", ("", ""))
    if reason == "NoCommonVersion":
        cure = "start slurmrestd with an openapi plugin of v0.0.38 to v0.0.45, or correct slurmApiVersion"
        yield wrong(text, cure=cure)
    elif text:
        cure = (
            "correct slurmRestURL; see that slurmrestd and slurmctld run, and that no NetworkPolicy, "
            "firewall or certificate is in the way; run this in the bridge's pod to look from there"
        )
        yield wrong(f"{url}: {text}", cure=cure)
    elif sight.ping is not None:
        yield fine(f"{url} answers for cluster {sight.ping.cluster or '(unnamed)'}")


def version(sight: SlurmSight) -> Iterator[Finding]:
    """Slurm is of a release that the bridge knows."""
    if sight.ping is None:
        return
    release, parts = sight.ping.release, sight.ping.release.split(".")
    known = tuple(int(part) for part in parts[:2] if part.isdecimal())
    text = f"Slurm {release}, spoken to in {sight.ping.api_version}"
    if known and known < OLDEST:
        yield wrong(text, cure="upgrade Slurm to 22.05 or newer")
    elif not release.startswith(TESTED):
        cure = f"expect it to work, and test it: the versions that were run are {' and '.join(TESTED)}"
        yield doubtful(text, cure=cure)
    else:
        yield fine(text)


def token(sight: SlurmSight) -> Iterator[Finding]:
    """There is a token, Slurm takes it, and it lasts."""
    _, text = sight.trouble.get("credentials") or sight.trouble.get("token") or ("", "")
    left = None if sight.expires is None else sight.expires - sight.now
    renew = "write a new one to its file or Secret: scontrol token username=USER lifespan=SECONDS"
    if left is not None and left <= 0:
        yield wrong(f"the token expired {_span(-left)} ago", cure=renew)
    elif text:
        yield wrong(text, cure=f"see slurmTokenFile or slurmTokenSecretRef; {renew}")
    elif left is not None and left < _HOUR:
        yield doubtful(f"the token expires in {_span(left)}", cure=renew)
    elif sight.ping is not None:
        yield fine("Slurm takes the token" + (f", which lasts {_span(left)}" if left else ""))


def operator(sight: SlurmSight) -> Iterator[Finding]:
    """The token's user may change other people's jobs, and nodes."""
    user = sight.mixing.spec.slurm_user or sight.user
    if not user or "token" in sight.trouble:
        return
    conf = sight.conf if sight.conf and not isinstance(sight.conf, Hidden) else {}
    admin = conf.get("slurmuser", "").partition("(")[0]
    cure = f"use a token of SlurmUser or root, or: sacctmgr modify user {user} set adminlevel=Operator"
    if user in (ROOT, admin):
        yield fine(f"{user} administers Slurm")
    elif "accountingstoragetype" in conf and conf["accountingstoragetype"] in _NO_ACCOUNTING:
        text = f"{user} is neither root nor SlurmUser ({admin}), and without slurmdbd nobody else is operator"
        yield wrong(text, cure="use a token of root or SlurmUser")
    else:
        yield unseen(f"whether {user} is an operator is known to slurmdbd only", cure=cure)


def partitions(sight: SlurmSight) -> Iterator[Finding]:
    """The managed partitions are there and up."""
    if not _answered(sight):
        return
    there = {one.name: one.states for one in sight.partitions}
    for mapping in sight.mixing.spec.partition_mappings:
        name = mapping.partition_name
        if name not in there:
            known = ", ".join(sorted(there)) or "none"
            cure = "correct partitionName, or add the partition (k8s-bridge slurm-plugin makes the lines)"
            yield wrong(f"Slurm has no partition {name} (it has: {known})", cure=cure)
        elif "UP" not in there[name]:
            state = "+".join(sorted(there[name])) or "of no known state"
            yield wrong(f"partition {name} is {state}", cure=f"scontrol update partitionname={name} state=up")
        else:
            yield fine(f"partition {name} is up")


def isolation(sight: SlurmSight) -> Iterator[Finding]:
    """No other partition takes in the nodes of the bridge."""
    if not _answered(sight):
        return
    ours = {mapping.partition_name for mapping in sight.mixing.spec.partition_mappings}
    others = [one for one in sight.partitions if one.name not in ours]
    if others and _by_scontrol(sight):
        cure = "see scontrol show partition: none but managed ones may have Nodes=ALL"
        yield unseen("this Slurm does not tell which nodes a partition is made of", cure=cure)
        return
    open_ = sorted(one.name for one in others if one.nodes == _ALL)
    for name in open_:
        cure = (
            f"give partition {name} its own nodes by name; managed ones a NodeSet (k8s-bridge slurm-plugin)"
        )
        yield doubtful(f"partition {name} has Nodes=ALL and is not managed here", cure=cure)
    if not open_:
        yield fine("no other partition takes in all nodes")


def clock(sight: SlurmSight) -> Iterator[Finding]:
    """Slurmctld's clock agrees with this machine's."""
    if sight.controller_time is None:
        return
    skew = sight.controller_time - sight.now
    text = f"slurmctld's clock is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} this machine's"
    if abs(skew) > SKEW:
        yield doubtful(text, cure="synchronise both by NTP")
    else:
        yield fine(f"slurmctld's clock agrees with this machine's to {SKEW} s")


def features(sight: SlurmSight) -> Iterator[Finding]:
    """Slurm before 23.02 cannot change nodes by REST: scontrol has to be at hand."""
    if not _by_scontrol(sight):
        return
    cure = "mount Slurm's client commands and slurm.conf into the bridge's pod (docs/installation.md)"
    yield doubtful("this Slurm changes nodes by scontrol only, which the image does not have", cure=cure)


def _by_scontrol(sight: SlurmSight) -> bool:
    return sight.ping is not None and sight.ping.api_version == "v0.0.38"


def _answered(sight: SlurmSight) -> bool:
    return sight.ping is not None and not sight.trouble


def _span(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", _HOUR), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


SLURM = (
    Check(name="slurmrestd", why="the bridge sees no job", look=reachable),
    Check(name="slurm-version", why="answers may be read wrongly", look=version),
    Check(name="token", why="Slurm refuses every call", look=token),
    Check(name="operator", why="jobs of other people can be neither held nor released", look=operator),
    Check(name="partitions", why="jobs cannot be submitted there, or do not start", look=partitions),
    Check(name="isolation", why="its jobs can start on nodes that Kueue gave to another job", look=isolation),
    Check(name="clock", why="tokens seem to expire early or late, ages are wrong", look=clock),
    Check(name="scontrol", why="nodes can be neither drained nor deleted", look=features),
    *CONF,
)
"""All of them, those of slurm.conf included."""
