"""The streaming job, and what each table needs of spark_jobs/, as assets: `cdk deploy` uploads them by their hashes."""

import functools
import re
from pathlib import Path

from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from spark_jobs.archive import ROOT, build_archive

JOBS = ROOT / "spark_jobs"
BUILD = ROOT / "build" / "job"
_INCLUDE = re.compile(r"\s*include\s*[=:]\s*(?P<name>\S+)\s*")


class JobAssets(Construct):
    """The program and its archive with boto3, and schema and properties files on demand.

    An asset lies under a name of its own, away from its neighbours: what a properties file includes is put into it.
    """

    def __init__(self, scope: Construct, id_: str) -> None:
        super().__init__(scope, id_)
        self._assets: dict[str, s3_assets.Asset] = {}
        self.application = self._asset("Application", JOBS / "streamer.py")
        self.archive = self._asset("Archive", _archive())

    def schema(self, name: str) -> str:
        """Return the URL of a file of pipelines/orders."""
        return self._asset(f"Schema-{name}", ROOT / "pipelines" / "orders" / name)

    def properties(self, name: str) -> str:
        """Return the URL of a file of spark_jobs/conf, complete."""
        complete, text = BUILD / name, included(JOBS / "conf" / name)
        if not complete.is_file() or complete.read_text(encoding="utf-8") != text:
            complete.write_text(text, encoding="utf-8")
        return self._asset(f"Properties-{name}", complete)

    def grant_read(self, role: iam.Role) -> None:
        """Let a role read these objects, and no other of the assets' bucket."""
        arns = [asset.bucket.arn_for_objects(asset.s3_object_key) for asset in self._assets.values()]
        role.add_to_policy(iam.PolicyStatement(actions=["s3:GetObject"], resources=arns))

    def _asset(self, id_: str, path: Path) -> str:
        if id_ not in self._assets:
            self._assets[id_] = s3_assets.Asset(self, id_, path=str(path))
        return self._assets[id_].s3_object_url


@functools.cache
def _archive() -> Path:
    """Build the archive once in a process: several syntheses pack the same."""
    archive = BUILD / "spark_jobs.zip"
    build_archive(archive, libraries=True)
    return archive


def included(path: Path) -> str:
    """Return a properties file's text with the files that it includes in their places."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        found = _INCLUDE.fullmatch(line)
        lines.append(included(path.parent / found["name"]) if found else line)
    return "".join(lines)
