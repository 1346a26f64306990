"""`python -m local`."""

import local.dashboard.command  # adds dashboard
import local.demo.command  # adds demo, demo-query and reconcile to the commands
import local.platform.supervisor  # adds supervise
import local.query.command  # adds query
import local.resnapshot.command  # noqa: F401  (adds resnapshot)
from local.cli import app

if __name__ == "__main__":
    app()
