"""Storage for claims: folders on a local disk, on S3 and through Hadoop, each with create-if-absent."""

import contextlib
import os
import time
import uuid
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Protocol

from spark_jobs.runtime import aws
from spark_jobs.runtime.hadoop import Hadoop, local_path

# By then a concurrent writer has finished; the last write wins.
_SETTLE_SECONDS = 3.0


class ClaimStore(Protocol):
    """A folder of small texts."""

    def names(self) -> list[str]:
        """Return the names of the stored texts."""

    def create(self, name: str, text: str) -> bool:
        """Create a text; False if it exists. Of several writers one gets True."""

    def write(self, name: str, text: str) -> None:
        """Write a text, replacing an existing one."""

    def read(self, name: str) -> str | None:
        """Return a text; None when it doesn't exist."""

    def delete(self, name: str) -> None:
        """Remove a text, if it exists."""


@dataclass(eq=False)
class LocalClaims:
    """Files of this machine's disk; each appears whole."""

    folder: Path

    def names(self) -> list[str]:
        return [path.name for path in self.folder.glob("[0-9]*.json")]

    def create(self, name: str, text: str) -> bool:
        """Create a text as a link to a whole file, which fails if one exists."""
        part = self._part(text)
        try:
            os.link(part, self.folder / name)
        except FileExistsError:
            return False
        finally:
            part.unlink()
        return True

    def write(self, name: str, text: str) -> None:
        self._part(text).replace(self.folder / name)

    def read(self, name: str) -> str | None:
        try:
            return (self.folder / name).read_text()
        except FileNotFoundError:
            return None

    def delete(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    def _part(self, text: str) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        part = self.folder / f".{uuid.uuid4().hex}.part"
        part.write_text(text)
        return part


@dataclass(eq=False)
class S3Claims:
    """Objects below `bucket/prefix/`, by boto3's conditional writes."""

    client: Any
    bucket: str
    prefix: str

    def names(self) -> list[str]:
        found = self.client.list_objects_v2(Bucket=self.bucket, Prefix=self.prefix).get("Contents", [])
        names = [entry["Key"].removeprefix(self.prefix) for entry in found]
        return [name for name in names if name[:1].isdigit() and name.endswith(".json")]

    def create(self, name: str, text: str) -> bool:
        """Create a text with `If-None-Match: *`."""
        try:
            self._put(name, text, IfNoneMatch="*")
        except self.client.exceptions.ClientError as error:
            # Status 409: another writer of the same key was faster by a moment.
            if error.response["ResponseMetadata"]["HTTPStatusCode"] in (409, 412):
                return False
            raise
        return self.read(name) == text

    def write(self, name: str, text: str) -> None:
        self._put(name, text)

    def read(self, name: str) -> str | None:
        try:
            body = self.client.get_object(Bucket=self.bucket, Key=self.prefix + name)["Body"]
        except self.client.exceptions.NoSuchKey:
            return None
        text: str = body.read().decode()
        return text

    def delete(self, name: str) -> None:
        self.client.delete_object(Bucket=self.bucket, Key=self.prefix + name)

    def _put(self, name: str, text: str, **conditions: str) -> None:
        self.client.put_object(Bucket=self.bucket, Key=self.prefix + name, Body=text.encode(), **conditions)


@dataclass(eq=False)
class HadoopClaims:
    """Files of a file system that only Hadoop reaches. HDFS creates atomically; on an object store that doesn't, the
    last of two simultaneous writers wins.
    """

    hadoop: Hadoop
    folder: str
    _: KW_ONLY
    settle_seconds: float

    def names(self) -> list[str]:
        return [name for name in self.hadoop.sizes_in(self.folder) if name[:1].isdigit() and name.endswith(".json")]

    def create(self, name: str, text: str) -> bool:
        if not self.hadoop.create_text(f"{self.folder}/{name}", text):
            return False
        time.sleep(self.settle_seconds)
        return self.read(name) == text

    def write(self, name: str, text: str) -> None:
        self.hadoop.write_text(f"{self.folder}/{name}", text)

    def read(self, name: str) -> str | None:
        path = f"{self.folder}/{name}"
        return self.hadoop.read_text(path) if self.hadoop.exists(path) else None

    def delete(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.hadoop.delete(f"{self.folder}/{name}")


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
