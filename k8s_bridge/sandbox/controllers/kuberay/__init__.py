"""KubeRay 1.6: RayClusters become pods, RayJobs become submitters."""
