"""The landing bucket: objects that are only ever added, and the sink's own notes under `.indexes/`."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import boto3
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from local.sink.errors import SinkError, StoreUnavailableError
from local.sink.layout import last_offset
from local.sink.offsets import Gap

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

NOTES = ".indexes/.sink"
CONNECT_TIMEOUT_S = 5
READ_TIMEOUT_S = 20
# What an answer of S3 with a status below 500 must say for trying again to help.
PASSING = frozenset({"ConditionalRequestConflict", "OperationAborted", "RequestTimeout", "SlowDown", "TooManyRequests"})
CONFLICT, NOT_FOUND, SERVER_ERROR = 412, 404, 500


def s3_client(*, region: str, endpoint: str | None) -> "S3Client":
    """Make a client that fails after one try: trying again is the sink's business, which has to poll Kafka meanwhile.

    A server other than AWS is asked without a signature when the environment has no credentials.
    """
    anonymous = endpoint is not None and "AWS_ACCESS_KEY_ID" not in os.environ
    config = Config(
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=READ_TIMEOUT_S,
        retries={"total_max_attempts": 1},
        s3={"addressing_style": "path" if endpoint else "auto"},
        signature_version=UNSIGNED if anonymous else None,
        # A proxy of the environment leads to AWS, not to a server of our own.
        proxies={} if endpoint else None,
    )
    return boto3.client("s3", region_name=region, endpoint_url=endpoint, config=config)


class LandingStore:
    """A bucket as one sink sees it.

    Every method raises StoreUnavailableError when trying again helps, and SinkError when it doesn't (no such bucket,
    access denied, an object with the same name and other events).
    """

    def __init__(self, client: "S3Client", bucket: str, sink_name: str) -> None:
        self._client = client
        self._bucket = bucket
        self._notes = f"{NOTES}/{sink_name}"

    def put(self, key: str, body: bytes) -> None:
        """Add an object. One that is there already is kept unless it holds fewer events.

        A reader may have listed an object and not read it yet: it must find at least the events that were there.
        """
        with self._translated(key):
            try:
                self._client.put_object(Bucket=self._bucket, Key=key, Body=body, IfNoneMatch="*")
                return
            except ClientError as error:
                if _status(error) != CONFLICT:
                    raise
            earlier = self._client.get_object(Bucket=self._bucket, Key=key)["Body"].read()
            if earlier != body:
                # Written anew even if it is the earlier content: its time tells readers to look at it again.
                self._client.put_object(Bucket=self._bucket, Key=key, Body=_longer(earlier, body, self._url(key)))

    @staticmethod
    def note_keys(sink_name: str, topic: str) -> tuple[str, str]:
        """Return where a sink's notes on a topic are: a prefix for the gaps', and the key of the topic's id."""
        return f"{NOTES}/{sink_name}/gaps/{topic}/", f"{NOTES}/{sink_name}/topics/{topic}.json"

    def exists(self, key: str) -> bool:
        """Tell whether an object is there."""
        with self._translated(key):
            try:
                self._client.head_object(Bucket=self._bucket, Key=key)
            except ClientError as error:
                if _status(error) == NOT_FOUND and _code(error) != "NoSuchBucket":
                    return False
                raise
            return True

    def end(self, folder: str) -> int | None:
        """Return the offset behind the last landed record of a partition's folder in the ordered layout."""
        end = -1
        with self._translated(folder):
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=f"{folder}/")
            for entry in (entry for page in pages for entry in page.get("Contents", [])):
                offset = last_offset(entry["Key"])
                end = end if offset is None else max(end, offset + 1)
        return None if end < 0 else end

    def topic_id(self, topic: str) -> str | None:
        """Return the id of the topic whose records were landed here; None before the first start."""
        with self._translated(key := self._identity_key(topic)):
            try:
                answer = self._client.get_object(Bucket=self._bucket, Key=key)
            except self._client.exceptions.NoSuchKey:
                return None
            return str(json.loads(answer["Body"].read())["topic_id"])

    def identity_url(self, topic: str) -> str:
        """Return where the topic's id is noted."""
        return self._url(self._identity_key(topic))

    def keep_topic_id(self, topic: str, topic_id: str) -> None:
        """Note which topic's records are landed here."""
        self._put_note(self._identity_key(topic), {"topic": topic, "topic_id": topic_id})

    def keep_gap(self, topic: str, partition: int, gap: Gap) -> None:
        """Note offsets that are missing; the same gap makes the same note."""
        note = {"topic": topic, "partition": partition, "first": gap.first, "end": gap.end, "reason": gap.reason}
        self._put_note(f"{self._notes}/gaps/{topic}/{partition}/{gap.first:012d}_{gap.end:012d}.json", note)

    def gaps(self) -> Iterator[dict[str, object]]:
        """Give the notes on missing offsets: topic, partition, first, end (not included), reason."""
        with self._translated(prefix := f"{self._notes}/gaps/"):
            for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix):
                for entry in page.get("Contents", []):
                    yield json.loads(self._client.get_object(Bucket=self._bucket, Key=entry["Key"])["Body"].read())

    def _put_note(self, key: str, note: dict[str, object]) -> None:
        with self._translated(key):
            self._client.put_object(Bucket=self._bucket, Key=key, Body=json.dumps(note).encode())

    def _identity_key(self, topic: str) -> str:
        return f"{self._notes}/topics/{topic}.json"

    def _url(self, key: str) -> str:
        return f"s3://{self._bucket}/{key}"

    @contextmanager
    def _translated(self, key: str) -> Iterator[None]:
        try:
            yield
        except NoCredentialsError as error:
            raise SinkError(f"{self._url(key)}: {error}") from error
        except ClientError as error:
            message = f"{self._url(key)}: {_code(error)}: {error.response.get('Error', {}).get('Message', '')}"
            if _status(error) >= SERVER_ERROR or _code(error) in PASSING:
                raise StoreUnavailableError(message) from error
            raise SinkError(message) from error
        except BotoCoreError as error:
            raise StoreUnavailableError(f"{self._url(key)}: {error}") from error


def _longer(earlier: bytes, body: bytes, url: str) -> bytes:
    """Return the one of two objects of the same name that holds the other.

    The name says which record is last, so of one topic one content must end with the other, at a line's begin.
    """
    longer, shorter = (earlier, body) if len(earlier) >= len(body) else (body, earlier)
    if not (b"\n" + longer).endswith(b"\n" + shorter):
        raise SinkError(f"{url} holds other events than were read for it: does another topic or sink write there?")
    return longer


def _status(error: ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
