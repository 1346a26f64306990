"""`python -m local`."""

import local.demo.command  # adds demo and reconcile to the commands
import local.resnapshot.command
import local.supervisor  # noqa: F401  (adds supervise)
from local.cli import app

if __name__ == "__main__":
    app()
