"""Fetches what commands need: jars, wheels, npm packages, a browser. `make setup` calls it."""

import subprocess
import sys
from pathlib import Path

from contract.errors import CANNOT

ROOT = Path(__file__).resolve().parents[1]


def jars(*names: str) -> None:
    """Bring and verify sets of jars; without names those that the local platform needs."""
    from local.setup.jars import fetch

    fetch(names)


def wheels() -> None:
    """Bring what Lambda needs in another build than this machine's, and the driver that the job ships."""
    from stacks.lambda_assets import LAYERS, fetch

    for layer in LAYERS:
        fetch(layer)
    jars("postgresql")


def node_modules() -> None:
    """Install CDK's command line and the browser's package; npm verifies them by their hashes."""
    _make("node_modules/.ready")


def lock_python() -> None:
    _make("lock")


def _make(target: str) -> None:
    command = ["make", "--silent", "--no-print-directory", "-C", str(ROOT), target]
    if subprocess.run(command, stdout=sys.stderr, check=False).returncode:
        sys.exit(CANNOT)


def certificates() -> None:
    """Compare RDS's root certificates with the package that npm has verified."""
    from local.tools.certificates import check

    node_modules()
    check()


def browser() -> None:
    from tests.browser.chromium import main

    node_modules()
    main()


if __name__ == "__main__":
    from cli.shared import one_line_errors

    with one_line_errors("setup"):
        jars()
        wheels()
