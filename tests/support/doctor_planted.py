"""Misconfigurations: how each is planted in a healthy world, which check finds it, what its cure names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.faults import Answer, Rule
from k8s_bridge.sandbox.apiserver.kinds import (
    ADMISSIONCHECKS,
    CLUSTERQUEUES,
    CONFIGMAPS,
    DEPLOYMENTS,
    LOCALQUEUES,
    NAMESPACES,
    PRIORITYCLASSES,
    RESOURCEFLAVORS,
    SECRETS,
    WORKLOADMIXINGS,
)
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.world.config import AUTH_SECRET, BATCH, FLAVOR, HIGH, MIXING, NAMESPACE, TEAM_A
from k8s_bridge.sandbox.world.objects import SHARED_QUEUE
from k8s_bridge.slurm.doctor import Verdict
from support.planted import Patient, Planted

SHAPE = {"cpus": 8, "gpus": 4}


def _unserve(*paths: str) -> Callable[[Patient], object]:
    return lambda patient: [patient.world.server.app._documents.pop(path) for path in paths]


def _deny(*rights: tuple[str, str, str]) -> Callable[[Patient], object]:
    return lambda patient: patient.world.server.app.reviews.denied.update(rights)


def _forbid(kind, verb: str) -> Callable[[Patient], object]:
    rule = Rule(fault=Answer(code=403, reason="Forbidden", message="may not"), verb=verb, kind=kind)
    return lambda patient: patient.world.server.faults.add(rule)


def _conf(**values: str) -> Callable[[Patient], object]:
    return lambda patient: patient.conf.update({key.lower(): value for key, value in values.items()})


def _spec(**spec: Any) -> Callable[[Patient], object]:
    return lambda patient: patient.mixing(**spec)


def _queue(**spec: Any) -> Callable[[Patient], object]:
    return lambda patient: patient.patch(CLUSTERQUEUES, SHARED_QUEUE, {"spec": spec})


def _deployment(name: str, namespace: str, **patch: Any) -> Callable[[Patient], object]:
    return lambda patient: patient.patch(DEPLOYMENTS, f"{name}-controller", patch, namespace=namespace)


def _available(name: str, namespace: str, count: int) -> Callable[[Patient], object]:
    return lambda patient: patient.status(
        DEPLOYMENTS, f"{name}-controller", {"availableReplicas": count}, namespace=namespace
    )


def _args(*args: str) -> Callable[[Patient], object]:
    container = {"name": "k8s-bridge", "image": "k8s-bridge:1", "args": ["run", *args]}
    template = {"spec": {"serviceAccountName": "k8s-bridge", "containers": [container]}}
    return _deployment("k8s-bridge", "bridge", spec={"template": template})


def _delete(kind, name: str) -> Callable[[Patient], object]:
    return lambda patient: patient.world.delete(kind, name)


def _label_namespace(**labels: str) -> Callable[[Patient], object]:
    return lambda patient: patient.patch(NAMESPACES, NAMESPACE, {"metadata": {"labels": labels}})


def _kueue_config(text: str) -> Callable[[Patient], object]:
    data = {"controller_manager_config.yaml": text}
    return lambda patient: patient.patch(
        CONFIGMAPS, "kueue-manager-config", {"data": data}, namespace="kueue-system"
    )


def _multikueue(patient: Patient) -> None:
    check = {"metadata": {"name": "far"}, "spec": {"controllerName": "kueue.x-k8s.io/multikueue"}}
    patient.storage.create(ADMISSIONCHECKS, check)
    patient.status(ADMISSIONCHECKS, "far", {"conditions": [patient.condition("Active")]})
    _queue(admissionChecksStrategy={"admissionChecks": [{"name": "far"}]})(patient)


async def _no_flavor(patient: Patient) -> None:
    patient.world.delete(RESOURCEFLAVORS, FLAVOR)

    def inactive() -> bool:
        queue = patient.storage.get(CLUSTERQUEUES, "", SHARED_QUEUE)
        return conditions.find(queue, "Active")["status"] == "False"

    await patient.world.until(inactive, what="Kueue has missed the flavor")


def _cover(*resources: str) -> Callable[[Patient], object]:
    quotas = [{"name": name, "nominalQuota": "8"} for name in resources]
    flavors = [{"name": FLAVOR, "resources": quotas}]
    return _queue(resourceGroups=[{"coveredResources": list(resources), "flavors": flavors}])


def _second_mixing(patient: Patient) -> None:
    first: Json = patient.storage.get(WORKLOADMIXINGS, NAMESPACE, MIXING)
    meta = {"namespace": NAMESPACE, "name": "other"}
    patient.storage.create(WORKLOADMIXINGS, {"metadata": meta, "spec": first["spec"]})


def _conditions(**statuses: str) -> Callable[[Patient], object]:
    def plant(patient: Patient) -> None:
        told = [patient.condition(kind, status, "because") for kind, status in statuses.items()]
        patient.status(WORKLOADMIXINGS, MIXING, {"conditions": told})

    return plant


def _token_file(lifetime: int, user: str = "root") -> Callable[[Patient], object]:
    def plant(patient: Patient) -> None:
        patient.world.write_token(patient.world.slurm.slurm.mint(user, lifetime=lifetime))

    return plant


def _token_secret(key: str) -> Callable[[Patient], object]:
    def plant(patient: Patient) -> None:
        secret = {"metadata": {"namespace": NAMESPACE, "name": "token"}, "data": {key: "eA=="}}
        patient.storage.create(SECRETS, secret)
        patient.mixing(slurmTokenFile=None, slurmTokenSecretRef={"name": "token", "key": "token"})

    return plant


def _partition(**fields: Any) -> list[Json]:
    return [{"partitionName": BATCH, "workloadPriorityClass": HIGH, **fields}]


def _no_controller(patient: Patient) -> None:
    patient.world.slurm.slurm.stop_controller()


PLANTED = (
    Planted(
        name="JobSet is not installed",
        plant=_unserve("/apis/jobset.x-k8s.io", "/apis/jobset.x-k8s.io/v1alpha2"),
        check="kinds",
        text="jobset.x-k8s.io is not served",
        cure="install JobSet",
    ),
    Planted(
        name="Kueue is too old",
        plant=_unserve("/apis/kueue.x-k8s.io/v1beta2"),
        check="kinds",
        text="kueue.x-k8s.io/v1beta2 has no",
        cure="upgrade it to a version that serves v1beta2",
    ),
    Planted(
        name="a right is missing",
        plant=_deny(("kueue.x-k8s.io", "workloads", "patch")),
        check="rights",
        text="ServiceAccount bridge/k8s-bridge may not: patch workloads.kueue.x-k8s.io in namespace hpc",
        cure="slurmBridge.namespaces",
    ),
    Planted(
        name="the token's Secret may not be read",
        plant=lambda patient: (_token_secret("token")(patient), _deny(("", "secrets", "get"))(patient)),
        check="rights",
        text="get secrets token in namespace hpc",
        cure="slurmBridge.rbac.secrets",
    ),
    Planted(
        name="Kueue's controller is down",
        plant=_available("kueue", "kueue-system", 0),
        check="controllers",
        text="kueue: 0 of 2 pods",
        cure="kubectl describe deployment --namespace kueue-system kueue-controller",
    ),
    Planted(
        name="one of two pods of the bridge is down",
        plant=_available("k8s-bridge", "bridge", 1),
        check="controllers",
        text="k8s-bridge: 1 of 2 pods",
        cure="kubectl describe deployment",
        verdict=Verdict.DOUBTFUL,
    ),
    Planted(
        name="Deployments may not be listed",
        plant=_forbid(DEPLOYMENTS, "list"),
        check="controllers",
        text="403 Forbidden",
        cure="ask as somebody who may",
        verdict=Verdict.UNSEEN,
    ),
    Planted(
        name="Kueue does not look at JobSets",
        plant=_kueue_config("integrations: {frameworks: [batch/job]}"),
        check="kueue-configuration",
        text="integration with JobSet is switched off",
        cure="integrations.frameworks",
    ),
    Planted(
        name="Kueue leaves the namespace alone",
        plant=_kueue_config("managedJobsNamespaceSelector: {matchLabels: {kueue: 'yes'}}"),
        check="kueue-configuration",
        text="managedJobsNamespaceSelector leaves namespace hpc out",
        cure="labels of the namespace",
    ),
    Planted(
        name="no bridge serves the namespace",
        plant=lambda patient: patient.status(WORKLOADMIXINGS, MIXING, {"conditions": None}),
        check="served",
        text="no bridge has looked at it",
        cure="start a bridge",
    ),
    Planted(
        name="the bridge has a complaint",
        plant=_conditions(Ready="False", TokenValid="False"),
        check="served",
        text="the bridge says TokenValid=False (Seen): because",
        cure="see the other checks",
    ),
    Planted(
        name="the bridge is not ready for a reason of its own",
        plant=_conditions(Ready="False"),
        check="served",
        text="the bridge says Ready=False",
        cure="kubectl describe workloadmixing",
    ),
    Planted(
        name="another WorkloadMixing serves its partition",
        plant=_conditions(Ready="True", Conflicting="True"),
        check="served",
        text="the bridge says Conflicting=True",
        cure="see the other checks",
    ),
    Planted(
        name="the LocalQueue is missing",
        plant=_delete(LOCALQUEUES, TEAM_A),
        check="queues",
        text="LocalQueue hpc/team-a does not exist",
        cure="create the LocalQueue",
    ),
    Planted(
        name="the ClusterQueue is stopped",
        plant=_queue(stopPolicy="Hold"),
        check="queues",
        text="ClusterQueue shared is stopped",
        cure="stopPolicy",
    ),
    Planted(
        name="the ClusterQueue lacks its flavor",
        plant=_no_flavor,
        check="queues",
        text="ClusterQueue shared is inactive",
        cure="condition Active",
    ),
    Planted(
        name="the ClusterQueue is MultiKueue's",
        plant=_multikueue,
        check="queues",
        text="MultiKueue",
        cure="without a MultiKueue AdmissionCheck",
    ),
    Planted(
        name="the ClusterQueue takes from other namespaces",
        plant=_queue(namespaceSelector={"matchLabels": {"team": "ml"}}),
        check="queue-namespaces",
        text="leaves namespace hpc out",
        cure="label the namespace",
    ),
    Planted(
        name="the ClusterQueue does not cover GPUs",
        plant=lambda patient: (
            _cover("cpu", "memory")(patient),
            patient.mixing(partitionMappings=_partition(nodeShape=SHAPE)),
        ),
        check="queue-resources",
        text="does not cover nvidia.com/gpu",
        cure="coveredResources",
    ),
    Planted(
        name="the priority class is missing",
        plant=_delete(PRIORITYCLASSES, HIGH),
        check="priority-classes",
        text="WorkloadPriorityClass high does not exist",
        cure="correct workloadPriorityClass",
    ),
    Planted(
        name="no flavor has the topology level",
        plant=_spec(topology={"requiredLevel": "example.com/rack"}),
        check="topology",
        text="has the topology level example.com/rack",
        cure="topologyName of a ResourceFlavor",
    ),
    Planted(
        name="slurmd's Secret has another key",
        plant=lambda patient: patient.patch(SECRETS, AUTH_SECRET, {"data": {"slurm.key": None, "k": "eA=="}}),
        check="objects",
        text="has no key slurm.key (keys: k)",
        cure="slurmd.authSecretName",
    ),
    Planted(
        name="the pull Secret is missing",
        plant=_spec(
            partitionMappings=_partition(podTemplate={"spec": {"imagePullSecrets": [{"name": "registry"}]}})
        ),
        check="objects",
        text="Secret hpc/registry is not there",
        cure="imagePullSecrets",
    ),
    Planted(
        name="Pod Security refuses slurmd",
        plant=_label_namespace(**{"pod-security.kubernetes.io/enforce": "restricted"}),
        check="pod-security",
        text="enforces Pod Security restricted",
        cure="kubectl label --overwrite namespace hpc",
    ),
    Planted(
        name="the image is not allowed",
        plant=_args("--allow-insecure-tls", "--allow-image=registry.example.com/slurm/"),
        check="gates",
        text="spec.slurmd.image: slurmd:sandbox",
        cure="slurmBridge.gates",
    ),
    Planted(
        name="two WorkloadMixings manage one partition",
        plant=_second_mixing,
        check="partitions-once",
        text="is managed by hpc/",
        cure="take the partition out of one",
    ),
    Planted(
        name="a field has no effect",
        plant=_spec(maxUserPriority=5),
        check="in-force",
        text="maxUserPriority has no effect",
        cure="take it out",
        verdict=Verdict.DOUBTFUL,
    ),
    Planted(
        name="slurmrestd is elsewhere",
        plant=_spec(slurmRestURL="http://127.0.0.1:1"),
        check="slurmrestd",
        text="http://127.0.0.1:1",
        cure="correct slurmRestURL",
    ),
    Planted(
        name="slurmctld is down",
        plant=_no_controller,
        check="slurmrestd",
        text="slurmctld does not answer",
        cure="see that slurmrestd and slurmctld run",
    ),
    Planted(
        name="the API version is not served",
        plant=_spec(slurmApiVersion="v0.0.45"),
        check="slurmrestd",
        text="serves none of the API versions",
        cure="slurmApiVersion",
    ),
    Planted(
        name="the token has expired",
        plant=_token_file(-7200),
        check="token",
        text="the token expired 2 h ago",
        cure="scontrol token",
    ),
    Planted(
        name="the token expires soon",
        plant=_token_file(600),
        check="token",
        text="the token expires in 10 min",
        cure="scontrol token",
        verdict=Verdict.DOUBTFUL,
    ),
    Planted(
        name="the token is of another cluster",
        plant=lambda patient: patient.world.write_token("e30.e30.e30"),
        check="token",
        text="1007",
        cure="slurmTokenFile or slurmTokenSecretRef",
    ),
    Planted(
        name="the token's Secret has another key",
        plant=_token_secret("jwt"),
        check="token",
        text="Secret hpc/token has no key token",
        cure="slurmTokenSecretRef",
    ),
    Planted(
        name="the token's user is nobody in particular",
        plant=lambda patient: (_token_file(86_400, "ada")(patient), patient.mixing(slurmUser="ada")),
        check="operator",
        text="ada is neither root nor SlurmUser (root)",
        cure="token of root or SlurmUser",
    ),
    Planted(
        name="the partition is not there",
        plant=_spec(partitionMappings=[{"partitionName": "gpu", "workloadPriorityClass": HIGH}]),
        check="partitions",
        text="Slurm has no partition gpu (it has: batch, urgent)",
        cure="correct partitionName",
    ),
    Planted(
        name="another partition takes in all nodes",
        plant=_spec(partitionMappings=_partition()),
        check="isolation",
        text="partition urgent has Nodes=ALL",
        cure="NodeSet",
        verdict=Verdict.DOUBTFUL,
    ),
    Planted(
        name="SelectType takes no dynamic nodes",
        plant=_conf(SelectType="select/linear"),
        check="conf-select",
        text="select/linear",
        cure="SelectType=select/cons_tres",
    ),
    Planted(
        name="memory is not counted",
        plant=_conf(SelectTypeParameters="CR_CORE"),
        check="conf-select",
        text="does not count memory",
        cure="CR_Core_Memory",
        verdict=Verdict.DOUBTFUL,
    ),
    Planted(
        name="no room for dynamic nodes",
        plant=_conf(MaxNodeCount="0"),
        check="conf-node-table",
        text="no room for dynamic nodes",
        cure="MaxNodeCount=",
    ),
    Planted(
        name="pods relay",
        plant=_conf(TreeWidth="16"),
        check="conf-tree",
        text="TreeWidth=16",
        cure="TreeWidth=65533",
        verdict=Verdict.DOUBTFUL,
    ),
    Planted(
        name="jobs are measured against an empty partition",
        plant=_conf(EnforcePartLimits="ALL"),
        check="conf-limits",
        text="EnforcePartLimits=ALL",
        cure="EnforcePartLimits=NO",
    ),
    Planted(
        name="pods get no slurm.conf",
        plant=_conf(SlurmctldParameters="idle_on_node_suspend"),
        check="conf-configless",
        text="no enable_configless",
        cure="SlurmctldParameters=enable_configless",
    ),
    Planted(
        name="a plain sbatch is not held",
        plant=_conf(JobSubmitPlugins=""),
        check="conf-submit",
        text="JobSubmitPlugins has no lua",
        cure="k8s-bridge slurm-plugin",
        verdict=Verdict.DOUBTFUL,
    ),
    Planted(
        name="a GRES is not known",
        plant=lambda patient: (
            _conf(GresTypes="")(patient),
            patient.mixing(partitionMappings=_partition(nodeShape=SHAPE)),
        ),
        check="conf-gres",
        text="GresTypes has no gpu",
        cure="GresTypes=gpu",
    ),
    Planted(
        name="tokens are not taken",
        plant=_conf(AuthAltTypes=""),
        check="conf-jwt",
        text="auth/jwt",
        cure="AuthAltTypes=auth/jwt",
    ),
    Planted(
        name="nodes stay down",
        plant=_conf(ReturnToService="0"),
        check="conf-return",
        text="ReturnToService=0",
        cure="ReturnToService=2",
        verdict=Verdict.DOUBTFUL,
    ),
    Planted(
        name="lost nodes are not noticed",
        plant=_conf(SlurmdTimeout="0 sec"),
        check="conf-lost-nodes",
        text="SlurmdTimeout=0",
        cure="SlurmdTimeout=300",
        verdict=Verdict.DOUBTFUL,
    ),
    Planted(
        name="preempted jobs are lost",
        plant=_conf(JobRequeue="0"),
        check="conf-requeue",
        text="JobRequeue=0",
        cure="JobRequeue=1",
        verdict=Verdict.DOUBTFUL,
    ),
    Planted(
        name="requeued jobs wait long",
        plant=_conf(AuthInfo="socket=/run/munge,cred_expire=600"),
        check="conf-requeue",
        text="cred_expire=600",
        cure="lower cred_expire",
        verdict=Verdict.DOUBTFUL,
    ),
    Planted(
        name="ended jobs are forgotten at once",
        plant=_conf(MinJobAge="1 sec"),
        check="conf-job-age",
        text="MinJobAge=1 s",
        cure="MinJobAge=300",
        verdict=Verdict.DOUBTFUL,
    ),
    Planted(
        name="Slurm preempts too",
        plant=_conf(PreemptType="preempt/partition_prio"),
        check="conf-preemption",
        text="preempt/partition_prio",
        cure="PreemptType=preempt/none",
        verdict=Verdict.DOUBTFUL,
    ),
    Planted(
        name="a prolog runs on nodes",
        plant=_conf(**{"Prolog[0]": "/etc/slurm/prolog.sh"}),
        check="conf-prolog",
        text="Prolog run on every node",
        cure="in slurmd's image",
        verdict=Verdict.DOUBTFUL,
    ),
    Planted(
        name="it is another cluster's slurm.conf",
        plant=_conf(ClusterName="other"),
        check="slurm.conf",
        text="slurm.conf of cluster other; slurmrestd answers for sandbox",
        cure="--slurm-config",
    ),
    Planted(
        name="there is no slurm.conf to look at",
        plant=lambda patient: patient.without_conf(),
        check="slurm.conf",
        text="no scontrol is at hand",
        cure="k8s-bridge doctor --slurm-config -",
        verdict=Verdict.UNSEEN,
    ),
)
