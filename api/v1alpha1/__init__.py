"""WorkloadMixing v1alpha1: the one source of CRD, JSON schema, file configuration and docs tables."""
