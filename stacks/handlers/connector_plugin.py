"""Custom resource: an MSK Connect plugin, built from pinned releases. Changed content creates one with a new name.

Request: `name`, `bucket` and `prefix` (of its zip), `releases` (each `url`, `file`, `size`, `sha256`), `resources`
(files for the class path, text by name), `description`, `tags`. Attributes: `Name`, `Arn`, `Revision`, `Key`.

The name holds a hash of the request, so it is known without a download: an existing plugin needs none.
"""

import json
import re
import tempfile
from pathlib import Path
from typing import Any, Self

from boto3.exceptions import S3UploadFailedError
from botocore.exceptions import ClientError

from contract.tags import FORMER_OWNER
from plugins.releases.archive import FORMAT, repack
from plugins.releases.download import ArchiveError, UnreachableError, fetch
from stacks.handlers import framework, journal, life_cycle
from stacks.handlers.framework import Done, Event, Progress, ResourceError, Waiting, error_code, retry_reason
from stacks.handlers.journal import s3
from stacks.handlers.life_cycle import Found
from stacks.handlers.msk_connect import resource
from stacks.handlers.msk_connect.resource import MskResource

RELEASE_KEYS = {"url", "file", "size", "sha256"}
RESOURCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*")
# How long a deletion waits for connectors that aren't being deleted or changed.
IN_USE_SECONDS = 600
_REQUIRED = {"name": str, "bucket": str, "prefix": str, "releases": list}
_OPTIONAL = {"resources": dict, "description": str, "tags": dict}
_CHANGING = {"CREATING", "UPDATING", "DELETING", "PAUSING", "RESUMING", "RESTARTING"}
# How long a release's server may be out of reach.
UNREACHABLE_SECONDS = 600
# As long as the function may run: stacks/connectors/msk_connect.py.
UPLOAD_SECONDS = 600
# For a missing object, S3 answers 403 to callers who may list only part of the bucket.
_MISSING = ("403", "404", "NoSuchKey", "NoSuchBucket")


def start(event: Event) -> str:
    wanted = _request(event)
    for release in wanted["releases"]:
        if not release["sha256"] or not release["size"]:
            raise ResourceError(f"{release['file']} has no checksum: run `./lake dev lock plugins` and deploy again")
    return _name(wanted)


class Plugin(MskResource):
    """A plugin and its zip."""

    KIND, NAME, LABEL = "customPlugin", "name", "plugin"

    @classmethod
    def wanted_by(cls, event: Event) -> Self:
        return cls(event, _request(event), event["PhysicalResourceId"])

    @classmethod
    def deleted_by(cls, event: Event) -> Self | None:
        """Find it by its request: after a cancelled creation the id is CloudFormation's own."""
        try:
            wanted = framework.request(event, required=_REQUIRED, optional=_OPTIONAL)
            # A newer version of this code may name the same releases differently.
            known = re.fullmatch(re.escape(wanted["name"]) + r"-[0-9a-f]{16}", event["PhysicalResourceId"])
            return cls(event, wanted, event["PhysicalResourceId"] if known else _name(wanted))
        except (ResourceError, KeyError, TypeError):
            return None

    @property
    def key(self) -> str:
        return f"{self.wanted['prefix']}{self.name}.zip"

    def make(self) -> Progress:
        """Upload the zip unless it exists, then create the plugin. A plugin that MSK Connect refuses leaves no zip."""
        if waiting := self.still_unseen():
            return waiting
        # S3 never shows a partial upload.
        if "sha256" not in self._metadata() and (waiting := self._upload_releases()):
            return waiting
        bucket = f"arn:{self.event['StackId'].split(':')[1]}:s3:::{self.wanted['bucket']}"
        request: dict[str, Any] = {
            "name": self.name,
            "contentType": "ZIP",
            "description": self.wanted.get("description", ""),
            "location": {"s3Location": {"bucketArn": bucket, "fileKey": self.key}},
            "tags": framework.tags_of(self.event, self.wanted),
        }
        try:
            return self.made_by(lambda: resource.changing().create_custom_plugin(**request)["customPluginArn"])
        except ClientError as error:
            if not retry_reason(error):
                self.clear_up()
            raise

    def next_step(self, found: Found) -> Progress:
        state = self.state(found.shown)
        if state == "CREATE_FAILED":
            return self._failed(found)
        if state != "ACTIVE":
            return Waiting(f"{self.what} is {state}")
        former = found.tags.get(FORMER_OWNER)
        kept = {FORMER_OWNER: former} if former and self.event["RequestType"] == "Create" else {}
        self.set_tags(found, framework.tags_of(self.event, self.wanted) | kept)
        if (left := self._leftover()) and isinstance(progress := left.remove(), Waiting):
            return progress
        revision = found.shown.get("latestRevision", {}).get("revision", 0)
        data = {"Name": self.name, "Arn": self.arn(found.shown), "Revision": revision, "Key": self.key}
        return Done(data=data)

    def delete(self, found: Found) -> Waiting:
        """Delete the plugin when no connector uses it; `clear_up` deletes its zip."""
        return self._in_use(self.arn(found.shown)) or super().delete(found)

    def clear_up(self) -> None:
        """Delete all the zip's versions, if it belongs to the same stack. It, or the bucket, may not exist.

        The construct doesn't matter: no plugin uses the zip, and a renamed construct leaves its old name in the
        metadata.
        """
        if not self._metadata().get("owner", "").startswith(f"{framework.stack_name(self.event)}/"):
            return
        place = {"Bucket": self.wanted["bucket"], "Key": self.key}
        with journal.acting(self.event):
            pages = s3().get_paginator("list_object_versions").paginate(Bucket=place["Bucket"], Prefix=self.key)
            listed = [each for page in pages for each in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]]
            # Delete the newest, which names the owner, last.
            for version in sorted(listed, key=lambda version: bool(version["IsLatest"])):
                if version["Key"] == self.key:
                    s3().delete_object(**place, VersionId=version["VersionId"])

    def _failed(self, found: Found) -> Progress:
        """Remove completely what MSK Connect couldn't create. Raises ResourceError if this request created it."""
        reason = found.shown.get("stateDescription", {})
        waiting = super().delete(found)
        if journal.own(self.event).get(journal.ARN) != self.arn(found.shown):
            # From an earlier attempt: retry.
            return waiting
        # After a failed update, CloudFormation may not know the new name, so nothing else would remove it.
        self.clear_up()
        raise ResourceError(
            f"MSK Connect couldn't make {self.what}: {reason.get('code', 'CREATE_FAILED')}: "
            f"{reason.get('message', 'no reason given')}"
        )

    def _leftover(self) -> "Plugin | None":
        """Return what a cancelled update created, if this request rolls it back: CloudFormation doesn't know it.

        A rollback replaces nothing: its request is for what CloudFormation knows.
        """
        before = framework.old_request(self.event, required=_REQUIRED, optional=_OPTIONAL)
        if before is None or self.event["KnownAs"] != self.name or _name(before) == self.name:
            return None
        return Plugin(self.event, before, _name(before))

    def _in_use(self, arn: str) -> Waiting | None:
        """Wait for connectors that use it. Raises ResourceError if none is being deleted or changed for too long."""
        users = {
            connector["connectorName"]: connector["connectorState"]
            for connector in resource.listed("list_connectors", "connectors")
            if arn in [plugin["customPlugin"]["customPluginArn"] for plugin in connector.get("plugins", [])]
        }
        if not users:
            return None
        reason = f"{self.what} is still used by {', '.join(sorted(users))}"
        steady = not {*users.values()} & _CHANGING
        if steady and framework.now() >= self.event["Started"] + IN_USE_SECONDS:
            raise ResourceError(f"{reason}: change or delete that connector, then delete this again")
        return Waiting(reason)

    def _metadata(self) -> dict[str, str]:
        """Return the complete zip's metadata; without a zip, none."""
        try:
            found: dict[str, str] = s3().head_object(Bucket=self.wanted["bucket"], Key=self.key)["Metadata"]
        except ClientError as error:
            if error_code(error) not in _MISSING:
                raise
            return {}
        return found

    def _upload_releases(self) -> Waiting | None:
        """Download the releases, verify and repack them, and upload the zip; None when done.

        Raises ResourceError for a release that doesn't match its pin, can't be used, or stays out of reach.
        """
        with tempfile.TemporaryDirectory() as folder:
            try:
                archives = []
                for number, release in enumerate(self.wanted["releases"]):
                    place = Path(folder) / str(number)
                    place.mkdir()
                    # The next poll tries again: with retries, a server that crawls would outlast the function.
                    archives.append(fetch(release, place, waits=()))
                path = Path(folder) / "plugin.zip"
                found = repack(archives, path, resources=self.wanted.get("resources"))
            except (UnreachableError, ArchiveError) as error:
                waits = framework.now() < self.event["Started"] + UNREACHABLE_SECONDS
                if isinstance(error, UnreachableError) and waits:
                    return Waiting(str(error))
                raise ResourceError(str(error)) from None
            self._upload(path, found.sha256)
        return None

    def _upload(self, path: Path, sha256: str) -> None:
        """Upload the zip in parts, to save memory. Raises ResourceError if S3 refuses it."""
        metadata = {"sha256": sha256, "owner": framework.owner(self.event)}
        with journal.acting(self.event, seconds=UPLOAD_SECONDS):
            try:
                s3().upload_file(str(path), self.wanted["bucket"], self.key, ExtraArgs={"Metadata": metadata})
            except S3UploadFailedError as error:
                cause = error.__context__
                if isinstance(cause, ClientError):
                    raise cause from None
                raise ResourceError(str(error)) from None


def _request(event: Event) -> dict[str, Any]:
    wanted = framework.request(event, required=_REQUIRED, optional=_OPTIONAL)
    for name, text in wanted.get("resources", {}).items():
        if not RESOURCE.fullmatch(name) or not isinstance(text, str) or not text.isascii():
            raise ResourceError(f"Request: resources: {name!r} must be a file's name with a text of ASCII")
    for release in wanted["releases"]:
        if not isinstance(release, dict) or release.keys() != RELEASE_KEYS:
            raise ResourceError(f"Request: each of releases needs {', '.join(sorted(RELEASE_KEYS))}")
    return wanted


def _name(wanted: dict[str, Any]) -> str:
    pinned = sorted([str(release["file"]), str(release["sha256"])] for release in wanted["releases"])
    content = json.dumps([FORMAT, pinned, wanted.get("resources", {})], sort_keys=True)
    return f"{wanted['name']}-{framework.sha256_of(content)[: framework.HASH_DIGITS]}"


on_event, is_complete = life_cycle.handler(start, Plugin).functions
