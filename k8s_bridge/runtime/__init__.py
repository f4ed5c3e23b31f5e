"""What runs a bridge: queue, loop, executor, supervisor, metrics, logging, HTTP server, settings."""
