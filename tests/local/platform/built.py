"""The parts of a platform as built for a folder: nothing is started."""

from pathlib import Path
from typing import Any

from local.files import create_password
from local.platform.pipeline import LocalPipeline
from local.platform.record import PORTS, PlatformOptions, password_files, passwords
from local.platform.services import Services
from local.services.processes import Processes
from settings.load import load_pipeline


def services(folder: Path, pipeline: str = "orders", **options: Any) -> Services:
    ports = {name: 20_000 + number for number, name in enumerate(PORTS)}
    chosen = PlatformOptions(pipeline=pipeline, **options)
    for path in password_files(folder / "secrets"):
        create_password(path)
    return Services(
        folder,
        ports=ports,
        passwords=passwords(folder / "secrets"),
        options=chosen,
        pipeline=load_pipeline(pipeline),
    )


def moving(found: Services) -> LocalPipeline:
    return LocalPipeline(found, Processes(found.folder, found.folder / "logs"))
