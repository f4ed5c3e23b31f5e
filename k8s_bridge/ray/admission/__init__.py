"""The admission policies carried out by a webhook, for clusters that serve no MutatingAdmissionPolicy."""
