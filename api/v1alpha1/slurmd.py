"""The pods that become dynamic Slurm nodes."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from api.v1alpha1.base import (
    NVIDIA_GPU,
    ListMap,
    Model,
    Name,
    OptionalName,
    Raw,
    ResourceName,
    Rule,
    given,
    gpu_resource_or_default,
)
from api.v1alpha1.quantity import Memory

_AbsolutePath = Annotated[str, Field(max_length=1024, pattern=r"^/")]


class SharedStorage(Model):
    """An NFS export in each slurmd pod, so that job scripts and data are where users left them."""

    nfs_server: Annotated[str, Field(min_length=1, max_length=253)]
    """Host that serves the export."""
    nfs_path: _AbsolutePath
    """The exported path."""
    mount_path: _AbsolutePath
    """Where it is mounted in the pod."""


def _one_target(raw: Raw) -> bool:
    return given(raw, "resourceName", "deviceClassName") == 1


class GresResource(Model):
    """What a Slurm GRES is in Kubernetes: an extended resource, or a device class (DRA)."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel="(has(self.resourceName) && self.resourceName != '')"
            " != (has(self.deviceClassName) && self.deviceClassName != '')",
            holds=_one_target,
            field="",
            why="must name exactly one target",
            fix="set either resourceName or deviceClassName",
        ),
    )

    gres: Annotated[str, Field(max_length=128, pattern=r"^[A-Za-z0-9_.-]+(:[A-Za-z0-9_.-]+)?$")]
    """GRES as Slurm writes it: a name, or name:type, such as gpu:a100. name:type wins over the name alone."""
    resource_name: ResourceName = ""
    """Extended resource."""
    device_class_name: OptionalName = ""
    """DeviceClass of dynamic resource allocation."""


def _one_claim(raw: Raw) -> bool:
    return given(raw, "resourceClaimName", "resourceClaimTemplateName") == 1


class ResourceClaim(Model):
    """A resource claim of each pod, such as the IMEX channel of a ComputeDomain."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel="(has(self.resourceClaimName) && self.resourceClaimName != '')"
            " != (has(self.resourceClaimTemplateName) && self.resourceClaimTemplateName != '')",
            holds=_one_claim,
            field="",
            why="must name exactly one source",
            fix="set either resourceClaimName or resourceClaimTemplateName",
        ),
    )

    name: Annotated[str, Field(min_length=1, max_length=63)]
    """Name of the claim within the pod."""
    resource_claim_name: OptionalName = ""
    """An existing ResourceClaim that all pods share."""
    resource_claim_template_name: OptionalName = ""
    """A ResourceClaimTemplate; each pod gets a claim of its own. Jinja2, so that it can differ per JobSet."""


class Slurmd(Model):
    """How slurmd pods are made."""

    image: Annotated[str, Field(min_length=1, max_length=512)]
    """Container image of slurmd; must be among the platform's allowed images."""
    conf_server: Annotated[str, Field(min_length=1, max_length=512)]
    """Address of slurmctld that slurmd takes its configuration from (host:port)."""
    auth_secret_name: Name
    """Secret with `slurm.key` in the namespace of the WorkloadMixing."""
    gpu_resource_name: Annotated[ResourceName, AfterValidator(gpu_resource_or_default)] = NVIDIA_GPU
    """Extended resource of GRES gpu where gresResources says nothing else. Empty: the default."""
    privileged: bool = True
    """Runs slurmd privileged; it needs writable cgroups. False: a minimal set of capabilities."""
    shared_storage: SharedStorage | None = None
    """NFS export mounted into each pod."""
    gres_resources: Annotated[tuple[GresResource, ...], Field(max_length=64), ListMap("gres")] = ()
    """Resources of GRES other than plain gpu, or by type."""
    memory_overhead: Memory = 256
    """Memory of a pod that Slurm does not hand out: slurmd and slurmstepd live in it."""
    host_network: bool = False
    """Runs slurmd in the node's network, with dnsPolicy ClusterFirstWithHostNet."""
    resource_claims: Annotated[tuple[ResourceClaim, ...], Field(max_length=32), ListMap("name")] = ()
    """Resource claims of each pod."""
