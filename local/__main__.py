"""`python -m local`."""

import local.demo.command  # noqa: F401  (adds demo and reconcile to the commands)
from local.cli import app

if __name__ == "__main__":
    app()
