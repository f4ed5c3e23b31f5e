"""The bridge's container image: its root folder, made alike by the Dockerfile and without Docker."""
