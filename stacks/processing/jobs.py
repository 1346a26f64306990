"""The files of an environment's streaming jobs (stacks/job_steps.py), as assets.

`cdk deploy` uploads the assets under their hashes. PostgreSQL's JDBC driver is downloaded by `make setup` and pinned in
the jars' lock: synthesizing only reads it, so the tested file itself becomes the asset, and steps download nothing.
"""

import functools
import hashlib
import json
import re
from pathlib import Path

from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from contract.errors import UserError
from settings.load import PIPELINES
from spark_jobs.runtime.archive import ROOT, build_archive
from stacks.base import statement

JOBS = ROOT / "spark_jobs"
BUILD = ROOT / "build" / "job"
# An asset's ARN has 130 characters, a managed policy 6,144.
OF_A_STATEMENT = 30
_INCLUDE = re.compile(r"\s*include\s*[=:]\s*(?P<name>\S+)\s*")
LOCK = ROOT / "local" / "setup" / "jars.lock"
CACHE = ROOT / ".cache" / "jars"
DRIVER = "postgresql"


class JobAssets(Construct):
    """The program and its archive with boto3, and schema and properties files on demand.

    Each asset has its own S3 key, apart from its neighbours, so a properties file's includes are inlined.
    """

    def __init__(self, scope: Construct, id_: str) -> None:
        super().__init__(scope, id_)
        self._assets: dict[str, s3_assets.Asset] = {}
        self.archive = self._asset("Archive", _archive())

    def application(self, name: str) -> str:
        return self._asset(f"Application-{name}", JOBS / name)

    def driver(self) -> str:
        return self._asset("Driver", driver_jar())

    def schema(self, name: str) -> str:
        """Return the URL of a schema of pipelines/, such as `orders/cdc_events.avsc`."""
        return self._asset(f"Schema-{name}", PIPELINES / name)

    def properties(self, name: str) -> str:
        return self.text(name, included(JOBS / "conf" / name))

    def text(self, name: str, text: str) -> str:
        path = BUILD / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
        return self._asset(f"Text-{name}", path)

    def grant_read(self, role: iam.Role) -> None:
        """Let a role read these objects, and no others in the assets' bucket.

        Each statement must fit into a managed policy: CDK moves what a role can't hold into those.
        """
        arns = [asset.bucket.arn_for_objects(asset.s3_object_key) for asset in self._assets.values()]
        for first in range(0, len(arns), OF_A_STATEMENT):
            some = arns[first : first + OF_A_STATEMENT]
            role.add_to_policy(statement("s3:GetObject", on=some))

    def _asset(self, id_: str, path: Path) -> str:
        if id_ not in self._assets:
            self._assets[id_] = s3_assets.Asset(self, id_, path=str(path))
        return self._assets[id_].s3_object_url


@functools.cache
def _archive() -> Path:
    archive = BUILD / "spark_jobs.zip"
    build_archive(archive)
    return archive


def included(path: Path) -> str:
    """Return a properties file's text with its includes inlined."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        found = _INCLUDE.fullmatch(line)
        lines.append(included(path.parent / found["name"]) if found else line)
    return "".join(lines)


class DriverError(UserError):
    """The jar is missing, or isn't the locked one. Its text is one line."""


def driver_jar(lock: Path = LOCK) -> Path:
    locked: dict[str, dict[str, dict[str, str]]] = json.loads(lock.read_text(encoding="utf-8"))
    [(name, entry)] = locked[DRIVER].items()
    path = CACHE / DRIVER / name
    if not path.is_file():
        raise DriverError(f"{name} isn't in {CACHE.parent.name}/{CACHE.name}: run `make setup`")
    if hashlib.sha256(path.read_bytes()).hexdigest() != entry["sha256"]:
        raise DriverError(f"{path.name} isn't the jar that {lock.name} names: run `make setup`")
    return path
