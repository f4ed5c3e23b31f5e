"""Checks of slurm.conf, as `scontrol show config` tells it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from k8s_bridge.runtime.doctor.verdict import Check, Finding, Hidden, doubtful, fine, unseen, wrong
from k8s_bridge.slurm.doctor.conf import number, option, words
from k8s_bridge.slurm.doctor.sight import SlurmSight

Conf = Mapping[str, str]
_SEE = "run this where scontrol works, or: scontrol show config | k8s-bridge doctor --slurm-config -"
_NO_PREEMPTION = ("", "preempt/none")
_CRED_EXPIRE = 120
"""Slurm's default, in seconds."""
_POLLS = 2


def seen(sight: SlurmSight) -> Iterator[Finding]:
    """slurm.conf could be looked at, and is that of this cluster."""
    if sight.conf is None or isinstance(sight.conf, Hidden):
        why = sight.conf.why if sight.conf else "no scontrol is at hand"
        yield unseen(f"slurm.conf: {why}", cure=_SEE)
        return
    cluster = sight.conf.get("clustername", "")
    asked = sight.ping.cluster if sight.ping else ""
    if asked and asked != cluster:
        cure = "give the configuration of the right cluster with --slurm-config"
        yield wrong(f"this is slurm.conf of cluster {cluster}; slurmrestd answers for {asked}", cure=cure)
    else:
        yield fine(f"slurm.conf of cluster {cluster} is known")


def _of_conf(
    judge: Callable[[Conf, SlurmSight], Iterator[Finding]],
) -> Callable[[SlurmSight], Iterator[Finding]]:
    """A check that applies once slurm.conf of the right cluster is known."""

    def look(sight: SlurmSight) -> Iterator[Finding]:
        if sight.conf is None or isinstance(sight.conf, Hidden):
            return
        if sight.ping and sight.ping.cluster not in ("", sight.conf.get("clustername", "")):
            return
        yield from judge(sight.conf, sight)

    look.__doc__ = judge.__doc__
    return look


def selection(conf: Conf, _: SlurmSight) -> Iterator[Finding]:
    """SelectType is cons_tres, and memory is a resource."""
    kind, details = conf.get("selecttype", ""), conf.get("selecttypeparameters", "")
    if kind != "select/cons_tres":
        cure = "SelectType=select/cons_tres in slurm.conf, and restart slurmctld"
        yield wrong(f"SelectType is {kind or 'not set'}, which takes no dynamic nodes", cure=cure)
    elif not any("memory" in word for word in words(details)):
        cure = "SelectTypeParameters=CR_Core_Memory"
        yield doubtful(f"SelectTypeParameters={details} does not count memory", cure=cure)
    else:
        yield fine(f"SelectType={kind}, {details}")


def node_table(conf: Conf, _: SlurmSight) -> Iterator[Finding]:
    """MaxNodeCount leaves room for dynamic nodes."""
    room = number(conf.get("maxnodecount", ""))
    if not room:
        cure = "MaxNodeCount=4096 in slurm.conf (static nodes and pods together), and restart slurmctld"
        yield wrong("MaxNodeCount is not set: there is no room for dynamic nodes", cure=cure)
    else:
        yield fine(f"MaxNodeCount={room}")


def tree(conf: Conf, _: SlurmSight) -> Iterator[Finding]:
    """TreeWidth is so large that slurmctld speaks to each node itself."""
    width, room = number(conf.get("treewidth", "")) or 0, number(conf.get("maxnodecount", "")) or 0
    if width < room:
        cure = "TreeWidth=65533 in slurm.conf"
        yield doubtful(
            f"TreeWidth={width} is less than MaxNodeCount={room}: pods relay for each other", cure=cure
        )
    else:
        yield fine(f"TreeWidth={width}")


def limits(conf: Conf, _: SlurmSight) -> Iterator[Finding]:
    """Jobs are not measured against a partition that has no nodes yet."""
    value = conf.get("enforcepartlimits", "NO").upper()
    if value in ("ANY", "ALL"):
        text = f"EnforcePartLimits={value}: sbatch refuses jobs while the partition has too few nodes"
        yield wrong(text, cure="EnforcePartLimits=NO in slurm.conf: managed partitions begin without nodes")
    else:
        yield fine("EnforcePartLimits=NO")


def configless(conf: Conf, _: SlurmSight) -> Iterator[Finding]:
    """Slurmd pods can fetch their configuration."""
    if "enable_configless" not in words(conf.get("slurmctldparameters", "")):
        cure = "SlurmctldParameters=enable_configless in slurm.conf, and restart slurmctld"
        yield wrong("SlurmctldParameters has no enable_configless: slurmd pods get no slurm.conf", cure=cure)
    else:
        yield fine("slurmctld serves slurm.conf (enable_configless)")


def submission(conf: Conf, sight: SlurmSight) -> Iterator[Finding]:
    """Jobs are held as they are submitted."""
    if "lua" in words(conf.get("jobsubmitplugins", "")):
        yield fine("JobSubmitPlugins has lua")
    elif sight.mixing.spec.adopt_unheld:
        yield fine("jobs that were not held are adopted (adoptUnheld)")
    else:
        cure = "k8s-bridge slurm-plugin makes job_submit.lua; or set adoptUnheld"
        yield doubtful(
            "JobSubmitPlugins has no lua: only jobs that users submit with --hold are served", cure=cure
        )


def devices(conf: Conf, sight: SlurmSight) -> Iterator[Finding]:
    """GresTypes has what nodes will bring along."""
    spec = sight.mixing.spec
    wanted = {item.gres.partition(":")[0] for item in spec.slurmd.gres_resources}
    wanted |= {"gpu" for mapping in spec.partition_mappings if mapping.node_shape and mapping.node_shape.gpus}
    missing = sorted(wanted - words(conf.get("grestypes", "")))
    if missing:
        cure = f"GresTypes={','.join(sorted(wanted))} in slurm.conf, and restart slurmctld"
        yield wrong(f"GresTypes has no {', '.join(missing)}: nodes that bring it cannot register", cure=cure)


def tokens(conf: Conf, _: SlurmSight) -> Iterator[Finding]:
    """Slurmctld takes JWTs."""
    if "auth/jwt" not in words(f"{conf.get('authtype', '')},{conf.get('authalttypes', '')}"):
        cure = "AuthAltTypes=auth/jwt and AuthAltParameters=jwt_key=FILE in slurm.conf"
        yield wrong("neither AuthType nor AuthAltTypes has auth/jwt: no token is taken", cure=cure)
    else:
        yield fine("slurmctld takes JWTs")


def returning(conf: Conf, _: SlurmSight) -> Iterator[Finding]:
    """A node that was down is used again when it registers."""
    value = number(conf.get("returntoservice", ""))
    if value != 2:  # noqa: PLR2004 - the value that slurm.conf(5) names
        text = f"ReturnToService={value}: a node that was DOWN stays so until somebody resumes it"
        yield doubtful(text, cure="ReturnToService=2 in slurm.conf")
    else:
        yield fine("ReturnToService=2")


def lost_nodes(conf: Conf, _: SlurmSight) -> Iterator[Finding]:
    """Slurmctld notices a node that is gone."""
    if number(conf.get("slurmdtimeout", "")) == 0:
        text = "SlurmdTimeout=0: slurmctld never notices that a node is gone"
        yield doubtful(text, cure="SlurmdTimeout=300 in slurm.conf (Slurm's default)")
    else:
        yield fine(f"SlurmdTimeout={conf.get('slurmdtimeout', '')}")


def requeueing(conf: Conf, _: SlurmSight) -> Iterator[Finding]:
    """A preempted job goes back to the queue, and soon."""
    expire = number(option(conf.get("authinfo", ""), "cred_expire"))
    if number(conf.get("jobrequeue", "1")) == 0:
        text = "JobRequeue=0: jobs without --requeue are lost to a preemption (see noRequeuePolicy)"
        yield doubtful(text, cure="JobRequeue=1 in slurm.conf")
    elif expire is not None and expire > _CRED_EXPIRE:
        text = f"AuthInfo has cred_expire={expire}: a job that Slurm requeues waits so many seconds"
        yield doubtful(text, cure="lower cred_expire; 120 is Slurm's default")
    else:
        yield fine("preempted jobs are requeued")


def memory_of_jobs(conf: Conf, sight: SlurmSight) -> Iterator[Finding]:
    """A finished job is known until the bridge has seen how it ended."""
    age, poll = number(conf.get("minjobage", "")), sight.mixing.spec.poll_interval.total_seconds()
    if age is not None and 0 < age < _POLLS * poll:
        text = f"MinJobAge={age} s is less than two poll intervals ({poll:.0f} s each)"
        yield doubtful(text, cure="MinJobAge=300 in slurm.conf (Slurm's default), or a shorter pollInterval")
    else:
        yield fine(f"MinJobAge={conf.get('minjobage', '')}")


def authority(conf: Conf, _: SlurmSight) -> Iterator[Finding]:
    """Slurm itself preempts nobody."""
    kind = conf.get("preempttype", "")
    if kind not in _NO_PREEMPTION:
        text = f"PreemptType={kind}: Slurm preempts jobs whose capacity Kueue has admitted"
        yield doubtful(text, cure="PreemptType=preempt/none, or PreemptMode=OFF in managed partitions")
    else:
        yield fine("Slurm itself preempts nobody")


def prologs(conf: Conf, _: SlurmSight) -> Iterator[Finding]:
    """No script runs on nodes that a slurmd pod may lack: a prolog that fails drains the node."""
    found = [key for key in ("prolog", "epilog") if any(conf.get(k) for k in (key, f"{key}[0]"))]
    if found:
        text = f"{' and '.join(one.capitalize() for one in found)} run on every node, slurmd pods included"
        yield doubtful(text, cure="have the scripts in slurmd's image, and see that they end well in a pod")
    else:
        yield fine("no prolog or epilog runs on nodes")


CONF = (
    Check(name="slurm.conf", why="what it says cannot be checked", look=seen),
    Check(
        name="conf-select",
        why="pods cannot register, or memory is handed out twice",
        look=_of_conf(selection),
    ),
    Check(name="conf-node-table", why="pods cannot register", look=_of_conf(node_table)),
    Check(name="conf-tree", why="messages are lost with a pod that relays them", look=_of_conf(tree)),
    Check(name="conf-limits", why="jobs are refused before the bridge sees them", look=_of_conf(limits)),
    Check(name="conf-configless", why="slurmd pods do not start", look=_of_conf(configless)),
    Check(name="conf-submit", why="a plain sbatch passes Kueue by, and waits", look=_of_conf(submission)),
    Check(name="conf-gres", why="such nodes are INVALID_REG and drained", look=_of_conf(devices)),
    Check(name="conf-jwt", why="Slurm refuses every call", look=_of_conf(tokens)),
    Check(name="conf-return", why="capacity lies idle", look=_of_conf(returning)),
    Check(
        name="conf-lost-nodes",
        why="jobs run on in the books on nodes that are gone",
        look=_of_conf(lost_nodes),
    ),
    Check(name="conf-requeue", why="preemption costs jobs or time", look=_of_conf(requeueing)),
    Check(name="conf-job-age", why="how jobs ended is forgotten too soon", look=_of_conf(memory_of_jobs)),
    Check(name="conf-preemption", why="two authorities take from the same jobs", look=_of_conf(authority)),
    Check(name="conf-prolog", why="a prolog that fails drains the node", look=_of_conf(prologs)),
)
"""All of them."""
