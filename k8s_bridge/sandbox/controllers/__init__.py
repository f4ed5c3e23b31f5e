"""The embedded controllers: JobSet, Job, Kueue, scheduler, kubelet and node lifecycle of the sandbox."""
