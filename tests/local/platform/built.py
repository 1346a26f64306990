"""The parts of a platform as built for a folder: nothing is started."""

from pathlib import Path
from typing import Any

from local.platform.pipeline import LocalPipeline
from local.platform.record import PORTS, Passwords, PlatformOptions
from local.platform.services import Services
from local.services.processes import Processes

PASSWORDS = Passwords(superuser="s", connector="c")


def services(folder: Path, pipeline: str = "orders", *, passwords: Passwords = PASSWORDS, **options: Any) -> Services:
    ports = {name: 20_000 + number for number, name in enumerate(PORTS)}
    chosen = PlatformOptions(pipeline=pipeline, **options)
    return Services(folder, ports=ports, passwords=passwords, options=chosen)


def moving(found: Services) -> LocalPipeline:
    """The pipeline that moves the data through services."""
    return LocalPipeline(found, Processes(found.folder, found.folder / "logs"))
