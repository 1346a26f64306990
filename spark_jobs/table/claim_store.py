"""Where claims are kept: folders on a local disk, on S3 and wherever Hadoop reaches, each with create-if-absent."""

import contextlib
import os
import time
import uuid
from pathlib import Path
from typing import Any, Protocol

from spark_jobs.runtime import aws
from spark_jobs.runtime.hadoop import Hadoop, local_path

# By then a concurrent writer has finished; the last write wins.
_SETTLE_SECONDS = 3.0


class ClaimStore(Protocol):
    """A folder of small texts."""

    def names(self) -> list[str]:
        """Return what is there."""

    def create(self, name: str, text: str) -> bool:
        """Write a text that isn't there; False when it is. Of several writers one gets True."""

    def write(self, name: str, text: str) -> None:
        """Write a text, replacing what is there."""

    def read(self, name: str) -> str | None:
        """Return a text; None when it isn't there."""

    def delete(self, name: str) -> None:
        """Remove a text; nothing happens when it isn't there."""


class LocalClaims:
    """Files of this machine's disk; each appears whole."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        return [path.name for path in self._folder.glob("[0-9]*.json")]

    def create(self, name: str, text: str) -> bool:
        """Write a text that isn't there: a link to a whole file, which fails where one is."""
        part = self._part(text)
        try:
            os.link(part, self._folder / name)
        except FileExistsError:
            return False
        finally:
            part.unlink()
        return True

    def write(self, name: str, text: str) -> None:
        self._part(text).replace(self._folder / name)

    def read(self, name: str) -> str | None:
        try:
            return (self._folder / name).read_text()
        except FileNotFoundError:
            return None

    def delete(self, name: str) -> None:
        (self._folder / name).unlink(missing_ok=True)

    def _part(self, text: str) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        part = self._folder / f".{uuid.uuid4().hex}.part"
        part.write_text(text)
        return part


class S3Claims:
    """Objects below `bucket/prefix/`, by boto3's conditional writes."""

    def __init__(self, client: Any, bucket: str, prefix: str) -> None:
        self._client = client
        self._bucket = bucket
        self._prefix = prefix

    def names(self) -> list[str]:
        found = self._client.list_objects_v2(Bucket=self._bucket, Prefix=self._prefix).get("Contents", [])
        names = [entry["Key"].removeprefix(self._prefix) for entry in found]
        return [name for name in names if name[:1].isdigit() and name.endswith(".json")]

    def create(self, name: str, text: str) -> bool:
        """Write a text that isn't there: `If-None-Match: *`."""
        try:
            self._put(name, text, IfNoneMatch="*")
        except self._client.exceptions.ClientError as error:
            # 409: another writer of the same key was faster by a moment.
            if error.response["ResponseMetadata"]["HTTPStatusCode"] in (409, 412):
                return False
            raise
        return self.read(name) == text

    def write(self, name: str, text: str) -> None:
        self._put(name, text)

    def read(self, name: str) -> str | None:
        try:
            body = self._client.get_object(Bucket=self._bucket, Key=self._prefix + name)["Body"]
        except self._client.exceptions.NoSuchKey:
            return None
        text: str = body.read().decode()
        return text

    def delete(self, name: str) -> None:
        self._client.delete_object(Bucket=self._bucket, Key=self._prefix + name)

    def _put(self, name: str, text: str, **conditions: str) -> None:
        self._client.put_object(Bucket=self._bucket, Key=self._prefix + name, Body=text.encode(), **conditions)


class HadoopClaims:
    """Files of a file system that only Hadoop reaches. HDFS creates atomically; where an object store doesn't, the
    last of two writers within a moment holds.
    """

    def __init__(self, hadoop: Hadoop, folder: str, *, settle_seconds: float) -> None:
        self._hadoop = hadoop
        self._folder = folder
        self._settle_seconds = settle_seconds

    def names(self) -> list[str]:
        return [name for name in self._hadoop.sizes_in(self._folder) if name[:1].isdigit() and name.endswith(".json")]

    def create(self, name: str, text: str) -> bool:
        if not self._hadoop.create_text(f"{self._folder}/{name}", text):
            return False
        time.sleep(self._settle_seconds)
        return self.read(name) == text

    def write(self, name: str, text: str) -> None:
        self._hadoop.write_text(f"{self._folder}/{name}", text)

    def read(self, name: str) -> str | None:
        path = f"{self._folder}/{name}"
        return self._hadoop.read_text(path) if self._hadoop.exists(path) else None

    def delete(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._hadoop.delete(f"{self._folder}/{name}")


def claim_store(folder: str, hadoop: Hadoop) -> ClaimStore:
    """Return the store for a folder."""
    local = local_path(hadoop.qualified(folder))
    if local is not None:
        return LocalClaims(Path(local))
    scheme, _, rest = folder.partition("://")
    if scheme in ("s3", "s3a"):
        with contextlib.suppress(ModuleNotFoundError):
            bucket, _, prefix = rest.partition("/")
            return S3Claims(aws.client("s3", **hadoop.s3_client_arguments()), bucket, f"{prefix}/")
    return HadoopClaims(hadoop, folder, settle_seconds=0 if scheme == "hdfs" else _SETTLE_SECONDS)
