"""A plugin's zip: built from pinned releases, stored in S3 under the plugin's name, deleted with the plugin."""

import functools
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from boto3.exceptions import S3UploadFailedError
from botocore.exceptions import ClientError

from plugins.releases.archive import repack
from plugins.releases.download import ArchiveError, UnreachableError, fetch
from stacks.handlers import framework, journal
from stacks.handlers.framework import Event, ResourceError, Waiting
from stacks.handlers.transient import error_code

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# How long a release's server may be out of reach.
UNREACHABLE_SECONDS = 600
# As long as the function may run: stacks/connectors/providers.py.
UPLOAD_SECONDS = 600
# For a missing object, S3 answers 403 to callers who may list only part of the bucket.
_MISSING = ("403", "404", "NoSuchKey", "NoSuchBucket")


@functools.cache
def s3() -> "S3Client":
    return boto3.client("s3", config=framework.CLIENT_CONFIG)


@dataclass(frozen=True, kw_only=True)
class Archive:
    """A zip's place and owner; the object's metadata holds `owner`."""

    bucket: str
    key: str
    owner: str

    def is_there(self) -> bool:
        """Whether the complete zip exists: S3 never shows a partial upload."""
        return "sha256" in self._metadata()

    def delete(self, event: Event) -> None:
        """Delete all its versions, if it belongs to the same stack. It, or the bucket, may not exist.

        The construct doesn't matter: no plugin uses the zip, and a renamed construct leaves its old name in the
        metadata.
        """
        if not self._metadata().get("owner", "").startswith(f"{framework.stack_name(event)}/"):
            return
        with journal.acting(event):
            versions = [
                version
                for page in s3().get_paginator("list_object_versions").paginate(Bucket=self.bucket, Prefix=self.key)
                for version in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
                if version["Key"] == self.key
            ]
            # Delete the newest, which names the owner, last.
            for version in sorted(versions, key=lambda version: bool(version["IsLatest"])):
                s3().delete_object(Bucket=self.bucket, Key=self.key, VersionId=version["VersionId"])

    def upload(self, event: Event, path: Path, sha256: str) -> None:
        """Upload it in parts, to save memory. Raises ResourceError if S3 refuses it."""
        metadata = {"sha256": sha256, "owner": self.owner}
        with journal.acting(event, seconds=UPLOAD_SECONDS):
            try:
                s3().upload_file(str(path), self.bucket, self.key, ExtraArgs={"Metadata": metadata})
            except S3UploadFailedError as error:
                cause = error.__context__
                if isinstance(cause, ClientError):
                    raise cause from None
                raise ResourceError(str(error)) from None

    def _metadata(self) -> dict[str, str]:
        try:
            return s3().head_object(Bucket=self.bucket, Key=self.key)["Metadata"]
        except ClientError as error:
            if error_code(error) not in _MISSING:
                raise
            return {}


def upload_releases(event: Event, wanted: Mapping[str, Any], archive: Archive) -> Waiting | None:
    """Download a request's releases, verify and repack them, and upload the zip; None when done.

    Raises ResourceError for a release that doesn't match its pin, can't be used, or stays out of reach.
    """
    with tempfile.TemporaryDirectory() as folder:
        try:
            archives = []
            for number, release in enumerate(wanted["releases"]):
                place = Path(folder) / str(number)
                place.mkdir()
                archives.append(fetch(release, place))
            path = Path(folder) / "plugin.zip"
            found = repack(archives, path, resources=wanted.get("resources"))
        except UnreachableError as error:
            if framework.now() < event["Started"] + UNREACHABLE_SECONDS:
                return Waiting(str(error))
            raise ResourceError(str(error)) from None
        except ArchiveError as error:
            raise ResourceError(str(error)) from None
        archive.upload(event, path, found.sha256)
    return None
