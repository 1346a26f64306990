"""Custom resource: a plugin of MSK Connect, made of pinned releases. Changed content is a new one, under a new name.

Request: `name`, `bucket` and `prefix` (where its zip is kept), `releases` (each `url`, `file`, `size`, `sha256`),
`resources` (files for the class path, text by name), `description`, `tags`. Attributes: `Name`, `Arn`, `Revision`,
`Key`, `Sha256`.
"""

import functools
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from boto3.exceptions import S3UploadFailedError
from botocore.exceptions import ClientError

from plugins.archive import ArchiveError, Digest, fetch, repack
from stacks.handlers import framework, kafka_connect
from stacks.handlers.framework import Done, Event, Handler, Progress, ResourceError, Waiting

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

KIND = kafka_connect.Immutable(
    what="plugin",
    listing="list_custom_plugins",
    items="customPlugins",
    key="customPlugin",
    create="create_custom_plugin",
    delete="delete_custom_plugin",
)
RELEASE_KEYS = {"url", "file", "size", "sha256"}
RESOURCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@functools.cache
def s3() -> "S3Client":
    """S3, once per Lambda environment."""
    return boto3.client("s3", config=framework.CLIENT_CONFIG)


def start(event: Event) -> dict[str, Any]:
    """Bring the releases, verify and repack them, upload the zip and create the plugin, unless it is there."""
    wanted = _wanted(event)
    with tempfile.TemporaryDirectory() as folder:
        path, found = _pack(wanted, Path(folder))
        name = framework.named_by_content(wanted["name"], found.sha256)
        # Before anything is uploaded: what is there may be another's.
        KIND.is_there(event, name)
        _upload(path, found, bucket=wanted["bucket"], key=_key(wanted, name))
    return {**KIND.begin(event, name, _request(event, wanted, name)), "Sha256": found.sha256}


def settle(event: Event) -> Progress:
    """Wait until MSK Connect has read it."""
    wanted, name = _wanted(event), event["PhysicalResourceId"]
    _check_created(event, wanted, name)
    found = KIND.settle(event, _request(event, wanted, name))
    if isinstance(found, Waiting):
        return found
    identity = {"Name": name, "Arn": found.arn, "Revision": found.revision}
    return Done(data={**identity, "Key": _key(wanted, name), "Sha256": event["Sha256"]})


def remove(event: Event) -> Progress:
    """Delete the plugin when no connector uses it, then its zip."""
    progress = KIND.remove(event)
    if isinstance(progress, Done) and KIND.find(event["PhysicalResourceId"]) is None:
        wanted = _wanted(event)
        _delete_object(wanted["bucket"], _key(wanted, event["PhysicalResourceId"]))
    return progress


def _wanted(event: Event) -> dict[str, Any]:
    wanted = framework.request(
        event,
        required={"name": str, "bucket": str, "prefix": str, "releases": list},
        optional={"resources": dict, "description": str, "tags": dict},
    )
    for name, text in wanted.get("resources", {}).items():
        if not RESOURCE.fullmatch(name) or not isinstance(text, str) or not text.isascii():
            raise ResourceError(f"Request: resources: {name!r} must be a file's name with a text of ASCII")
    for release in wanted["releases"]:
        if not isinstance(release, dict) or release.keys() != RELEASE_KEYS:
            raise ResourceError(f"Request: each of releases needs {', '.join(sorted(RELEASE_KEYS))}")
    return wanted


def _key(wanted: dict[str, Any], name: str) -> str:
    return f"{wanted['prefix']}{name}.zip"


def _request(event: Event, wanted: dict[str, Any], name: str) -> dict[str, Any]:
    partition = event["StackId"].split(":")[1]
    location = {"bucketArn": f"arn:{partition}:s3:::{wanted['bucket']}", "fileKey": _key(wanted, name)}
    return {
        "contentType": "ZIP",
        "description": wanted.get("description", ""),
        "location": {"s3Location": location},
        "tags": framework.tags_of(event, wanted),
    }


def _pack(wanted: dict[str, Any], folder: Path) -> tuple[Path, Digest]:
    try:
        archives = []
        for number, release in enumerate(wanted["releases"]):
            place = folder / str(number)
            place.mkdir()
            archives.append(fetch(release, place))
        path = folder / "plugin.zip"
        return path, repack(archives, path, resources=wanted.get("resources"))
    except ArchiveError as error:
        raise ResourceError(str(error)) from None


def _upload(path: Path, found: Digest, *, bucket: str, key: str) -> None:
    """Upload the zip unless it is there; in parts, so that memory stays small."""
    try:
        if s3().head_object(Bucket=bucket, Key=key)["Metadata"].get("sha256") == found.sha256:
            return
    except ClientError as error:
        # S3 says 403 of a missing object to those who may list a part of the bucket only.
        if framework.error_code(error) not in ("403", "404", "NoSuchKey"):
            raise
    try:
        s3().upload_file(str(path), bucket, key, ExtraArgs={"Metadata": {"sha256": found.sha256}})
    except S3UploadFailedError as error:
        raise ResourceError(str(error)) from None


def _check_created(event: Event, wanted: dict[str, Any], name: str) -> None:
    """Raise ResourceError with MSK Connect's reason when it could not make the plugin, and leave nothing of it."""
    found = KIND.find(name)
    if found is None or found.state != "CREATE_FAILED":
        return
    framework.check_owner(event, name, kafka_connect.tags(found.arn))
    described = kafka_connect.client().describe_custom_plugin(customPluginArn=found.arn)
    reason = described.get("stateDescription", {})
    # CloudFormation may not know the new name when an update fails, so nobody else would remove it.
    KIND.delete_now(found)
    _delete_object(wanted["bucket"], _key(wanted, name))
    raise ResourceError(
        f"MSK Connect couldn't make the plugin {name}: {reason.get('code', 'CREATE_FAILED')}: "
        f"{reason.get('message', 'no reason given')}"
    )


def _delete_object(bucket: str, key: str) -> None:
    """Remove every version of an object; there may be none, nor the bucket."""
    try:
        for page in s3().get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=key):
            for version in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]:
                if version["Key"] == key:
                    s3().delete_object(Bucket=bucket, Key=key, VersionId=version["VersionId"])
    except s3().exceptions.NoSuchBucket:
        return


_handler = Handler(start=start, settle=settle, remove=remove)
on_event = _handler.on_event
is_complete = _handler.is_complete
