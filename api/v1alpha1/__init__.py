"""WorkloadMixing v1alpha1: the one source of CRD, JSON schema, file configuration and docs tables."""

from __future__ import annotations

from api.v1alpha1.duration import format_duration, parse_duration
from api.v1alpha1.partition import FeatureMapping, NodeShape, PartitionMapping, QueueRule, Topology
from api.v1alpha1.policy import DeletionPolicy, NoRequeuePolicy, RefusedJobPolicy
from api.v1alpha1.ray import RaySpec
from api.v1alpha1.slurm import CertificateRef, ClientCertificateRef, SecretKeyRef
from api.v1alpha1.slurmd import GresResource, ResourceClaim, SharedStorage, Slurmd
from api.v1alpha1.status import Condition, ConditionType, Counts, PartitionStatus, WorkloadMixingStatus
from api.v1alpha1.workloadmixing import (
    API_VERSION,
    GROUP,
    KIND,
    PLURAL,
    VERSION,
    Metadata,
    WorkloadMixing,
    WorkloadMixingSpec,
)

__all__ = [
    "API_VERSION",
    "GROUP",
    "KIND",
    "PLURAL",
    "VERSION",
    "CertificateRef",
    "ClientCertificateRef",
    "Condition",
    "ConditionType",
    "Counts",
    "DeletionPolicy",
    "FeatureMapping",
    "GresResource",
    "Metadata",
    "NoRequeuePolicy",
    "NodeShape",
    "PartitionMapping",
    "PartitionStatus",
    "QueueRule",
    "RaySpec",
    "RefusedJobPolicy",
    "ResourceClaim",
    "SecretKeyRef",
    "SharedStorage",
    "Slurmd",
    "Topology",
    "WorkloadMixing",
    "WorkloadMixingSpec",
    "WorkloadMixingStatus",
    "format_duration",
    "parse_duration",
]
