"""The status page: read-only, without scripts, without anything from elsewhere."""
