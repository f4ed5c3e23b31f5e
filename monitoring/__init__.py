"""Alerts and dashboards as code. `python -m monitoring` writes what the chart and Prometheus read."""
