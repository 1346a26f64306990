"""The landing bucket: objects that are only ever added, and the sink's own notes under `.indexes/`."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import boto3
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from local.sink.settings import Partition, SinkError, UnavailableError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

NOTES = ".indexes/.sink"
# S3's error codes below status 500 that make trying again worthwhile.
PASSING = frozenset({"ConditionalRequestConflict", "OperationAborted", "RequestTimeout", "SlowDown", "TooManyRequests"})
CONFLICT, SERVER_ERROR = 412, 500
_NAME = re.compile(r"(?P<last_offset>\d{12,})_-?\d+_-?\d+\.json\Z")


def s3_client(endpoint: str) -> "S3Client":
    """Create a client of an endpoint on loopback that fails after one try: the sink itself tries again.

    The endpoint checks no credentials, and no proxy leads there.
    """
    config = Config(
        connect_timeout=5,
        read_timeout=20,
        retries={"total_max_attempts": 1},
        signature_version=UNSIGNED,
        proxies={},
    )
    return boto3.client("s3", region_name="us-east-1", endpoint_url=endpoint, config=config)


class LandingStore:
    """A bucket as one sink sees it.

    Every method raises UnavailableError when trying again helps, and SinkError when it doesn't (no such bucket, access
    denied, an object with the same name and other events).
    """

    def __init__(self, client: "S3Client", bucket: str, sink_name: str) -> None:
        self._client = client
        self._bucket = bucket
        self._sink_name = sink_name

    def put(self, key: str, body: bytes) -> None:
        """Add an object; the same one may exist, when the answer to the first try was lost."""
        with self._translated(key):
            try:
                self._client.put_object(Bucket=self._bucket, Key=key, Body=body, IfNoneMatch="*")
            except ClientError as error:
                if _status(error) != CONFLICT:
                    raise
                if self._client.get_object(Bucket=self._bucket, Key=key)["Body"].read() != body:
                    raise SinkError(
                        f"{self._url(key)} holds other events than were read for it: does another topic or sink write"
                        " there?"
                    ) from error

    @staticmethod
    def note_keys(sink_name: str, topic: str) -> tuple[str, str]:
        """Return where a sink's notes on a topic are: a prefix for the gaps, and the key of the topic's id."""
        return f"{NOTES}/{sink_name}/gaps/{topic}/", f"{NOTES}/{sink_name}/topics/{topic}.json"

    def end(self, folder: str, *, known: int = 0) -> int:
        """Return the offset after the last landed record of a partition's folder, 0 without one.

        `known`: the previous result; while an object ends there, those before it aren't listed.
        """
        if known and (end := self._listed_end(folder, after=f"{known - 1:012d}")) >= known:
            return end
        return self._listed_end(folder)

    def _listed_end(self, folder: str, *, after: str = "") -> int:
        prefix = f"{folder}/"
        with self._translated(folder):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=prefix, StartAfter=prefix + after
            )
            keys = (entry["Key"] for page in pages for entry in page.get("Contents", []))
            names = (_NAME.match(key.removeprefix(prefix)) for key in keys)
            return max((int(name["last_offset"]) + 1 for name in names if name), default=0)

    def topic_id(self, topic: str) -> str | None:
        """Return the id of the topic whose records were landed here; None before the first start."""
        with self._translated(key := self._identity_key(topic)):
            try:
                answer = self._client.get_object(Bucket=self._bucket, Key=key)
            except self._client.exceptions.NoSuchKey:
                return None
            return str(json.loads(answer["Body"].read())["topic_id"])

    def identity_url(self, topic: str) -> str:
        return self._url(self._identity_key(topic))

    def keep_topic_id(self, topic: str, topic_id: str) -> None:
        self._put_note(self._identity_key(topic), {"topic": topic, "topic_id": topic_id})

    def keep_gap(self, partition: Partition, first: int, end: int, reason: str) -> None:
        """Note offsets up to, not including, `end` that aren't in the landing and can't be read any more.

        The same gap results in the same note.
        """
        place = {"topic": partition.topic, "partition": partition.number}
        prefix, _ = self.note_keys(self._sink_name, partition.topic)
        key = f"{prefix}{partition.number}/{first:012d}_{end:012d}.json"
        self._put_note(key, place | {"first": first, "end": end, "reason": reason})

    def _put_note(self, key: str, note: dict[str, object]) -> None:
        with self._translated(key):
            self._client.put_object(Bucket=self._bucket, Key=key, Body=json.dumps(note).encode())

    def _identity_key(self, topic: str) -> str:
        return self.note_keys(self._sink_name, topic)[1]

    def _url(self, key: str) -> str:
        return f"s3://{self._bucket}/{key}"

    @contextmanager
    def _translated(self, key: str) -> Iterator[None]:
        try:
            yield
        except ClientError as error:
            message = f"{self._url(key)}: {_code(error)}: {error.response.get('Error', {}).get('Message', '')}"
            if _status(error) >= SERVER_ERROR or _code(error) in PASSING:
                raise UnavailableError(message) from error
            raise SinkError(message) from error
        except BotoCoreError as error:
            raise UnavailableError(f"{self._url(key)}: {error}") from error


def _status(error: ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
