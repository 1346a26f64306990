"""Reads the lake's Hudi tables without Spark, through hudi-rs: for reconcile, queries, the demo and status.

hudi-rs doesn't report files that the cleaner has removed: it returns no rows, or half of them, without an error. So the
timeline tells which instants can still be read: the state that the newest cleaning kept or is about to keep, and the
oldest commit that isn't archived.
"""

import contextlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import fastavro
import pyarrow
from hudi import HudiFileSlice, HudiQueryType, HudiReadOptions, HudiTable, HudiTableBuilder
from pyarrow import fs
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_fixed

from contract.errors import UserError
from local.services.aws import REGION
from spark_jobs.options.keys import PROGRESS

ATTEMPTS = 3
PAUSE_S = 0.3
# Few table services run between two commits with progress.
LOOKED_AT = 10
_INSTANT = re.compile(r"\d{14}(\d{3})?\Z")
_TIMELINE = ".hoodie"
_FILE = re.compile(r"(?P<instant>\d{17})\.(?P<action>commit|deltacommit|replacecommit|clean)(?P<state>\.\w+)?\Z")


class LakeError(UserError):
    """The lake's table can't be read; the message is one line."""


# A commit or the cleaner may disturb a read; the next attempt starts from the newest commit.
again = retry(
    retry=retry_if_exception_type(LakeError), stop=stop_after_attempt(ATTEMPTS), wait=wait_fixed(PAUSE_S), reraise=True
)


@dataclass(frozen=True, kw_only=True)
class Lake:
    """One Hudi table: its base path (`s3://bucket/path` or a local folder) and storage options."""

    base_uri: str
    storage_options: dict[str, str] = field(default_factory=dict)
    # Further ones, asked for whenever the table is opened: AWS's keys expire.
    login: Callable[[], Mapping[str, str]] = field(default=dict, repr=False, compare=False)

    @again
    def rows(self, columns: list[str] | None = None) -> pyarrow.Table:
        """Return the current rows as an Arrow table, all columns or the named ones.

        A commit being written may disturb a read (S3Proxy lists objects before they are complete), so there are three
        attempts. Raises LakeError when there is no table yet or it can't be read.
        """
        with self._reading() as table:
            batches = table.read(HudiReadOptions(projection=columns))
            return pyarrow.Table.from_batches(batches, schema=None if batches else self._schema(table, columns))

    def schema(self) -> pyarrow.Schema:
        """Return the table's columns, including Hudi's. Raises LakeError when there is no table yet."""
        with self._reading() as table:
            return self._schema(table, None)

    def stream(self, columns: list[str], batch_rows: int, *, as_of: str | None = None) -> Iterator[pyarrow.RecordBatch]:
        """Yield the current rows in batches of about `batch_rows`, without loading the whole table.

        `as_of`: those of an instant, `yyyyMMddHHmmssSSS`. Rows that the cleaner has removed are silently missing then:
        `check_readable` tells whether it is complete. Raises LakeError when the table can't be read, or no longer: the
        cleaner may have removed files that a long read needs.
        """
        options = HudiReadOptions(projection=columns).with_batch_size(batch_rows)
        with self._reading() as table:
            yield from table.read_stream(options if as_of is None else options.with_as_of_timestamp(as_of))

    def exists(self) -> bool:
        return self.last_commit() is not None

    def last_commit(self) -> str | None:
        """Return the time of the newest completed commit, `yyyyMMddHHmmssSSS`, or None while there is none."""
        with contextlib.suppress(LakeError), self._reading() as table:
            return str(table.get_timeline().get_latest_commit_timestamp())
        return None

    def newest_of_job(self) -> tuple[str, Mapping[str, str]]:
        """Return instant and metadata of the job's newest commit, both None where the newest few aren't the job's.

        Raises LakeError when there is no table yet or it can't be read.
        """
        with self._reading() as table:
            timeline = table.get_timeline()
            done = [*timeline.get_completed_commits(desc=True), *timeline.get_completed_deltacommits(desc=True)]
            for instant in sorted(done, key=lambda instant: instant.timestamp, reverse=True)[:LOOKED_AT]:
                metadata = json.loads(timeline.get_instant_metadata_in_json(instant)).get("extraMetadata") or {}
                if PROGRESS in metadata:
                    return str(instant.timestamp), metadata
        return "", {}

    def commit_metadata(self, known: Collection[str] = ()) -> dict[str, Mapping[str, Any]]:
        """Return the metadata of the timeline's completed commits by instant, except `known` ones.

        Raises LakeError when there is no table yet or it can't be read.
        """
        with self._reading() as table:
            timeline = table.get_timeline()
            return {
                str(instant.timestamp): json.loads(timeline.get_instant_metadata_in_json(instant))
                for instant in [*timeline.get_completed_commits(), *timeline.get_completed_deltacommits()]
                if str(instant.timestamp) not in known
            }

    def changed_files(self, since: str, until: str) -> tuple[list[HudiFileSlice], list[HudiFileSlice]]:
        """Return the files written by commits after `since` up to `until`: in their states then and before.

        A file that the cleaner has removed is silently missing, as for `stream`. Raises LakeError.
        """
        changed = HudiReadOptions().with_query_type(HudiQueryType.Incremental)
        with self._reading() as table:
            after = table.get_file_slices(changed.with_start_timestamp(since).with_end_timestamp(until))
            before = table.get_file_slices(HudiReadOptions().with_as_of_timestamp(since))
        files = {file.file_id for file in after}
        return after, [file for file in before if file.file_id in files]

    def file_batches(
        self, files: Iterable[HudiFileSlice], instant: str, batch_rows: int
    ) -> Iterator[pyarrow.RecordBatch]:
        """Yield the rows of files as of an instant, including Hudi's columns. Raises LakeError."""
        options = HudiReadOptions().with_as_of_timestamp(instant)
        with self._reading() as table:
            reader = table.create_file_group_reader_with_options(options)
            for file in files:
                yield from reader.read_file_slice_stream(file, options.with_batch_size(batch_rows))

    @contextlib.contextmanager
    def _reading(self) -> Iterator[HudiTable]:
        """Open the table. Every error becomes a LakeError: hudi-rs raises bare exceptions, also for a missing table."""
        # Outside: where the login fails, no table is missing.
        options = {**self.storage_options, **self.login()}
        try:
            yield HudiTableBuilder.from_base_uri(self.base_uri).with_options(options).build()
        except Exception as error:
            first_line = (str(error) or type(error).__name__).splitlines()[0]
            raise LakeError(f"{self.base_uri}: {first_line}") from error

    @staticmethod
    def _schema(table: HudiTable, columns: list[str] | None) -> pyarrow.Schema:
        schema = table.get_schema_with_meta_fields()
        return schema if columns is None else pyarrow.schema([schema.field(name) for name in columns])


def fitted(batch: pyarrow.RecordBatch, schema: pyarrow.Schema) -> pyarrow.RecordBatch:
    """Give a batch the columns and types of the table: older files may lack the newest columns."""
    columns = [
        batch.column(field.name).cast(field.type)
        if field.name in batch.schema.names
        else pyarrow.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pyarrow.RecordBatch.from_arrays(columns, schema=pyarrow.schema([f.with_nullable(True) for f in schema]))


def local_s3_options(endpoint: str) -> dict[str, str]:
    """Return the storage options for an S3 endpoint on loopback that needs no credentials."""
    return {
        "aws_endpoint": endpoint,
        "aws_region": REGION,
        "aws_allow_http": "true",
        "aws_skip_signature": "true",
        "aws_virtual_hosted_style_request": "false",
    }


class InstantError(UserError):
    """The value is no instant, or one that can't be read any more; one line says which can."""


def parse_instant(text: str) -> str:
    """Return an instant as Hudi writes it, `yyyyMMddHHmmssSSS`, of that form or of ISO 8601; UTC without a zone.

    Raises InstantError for anything else.
    """
    if _INSTANT.match(text):
        return text.ljust(17, "0")
    try:
        # Without hyphens, Python would accept digits with other meanings, too.
        moment = datetime.fromisoformat(text if "-" in text else "")
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InstantError(
            f"{text!r} is no instant: give a commit's time such as 20260131235959000, or 2026-01-31T23:59:59Z"
        ) from None
    return re.sub(r"\D", "", moment.isoformat(timespec="milliseconds"))[:17]


def check_readable(lake: Lake, instant: str, table: str) -> None:
    """Raise InstantError for an instant at which not all rows can be read any more, LakeError as `oldest_readable`."""
    if instant < (oldest := oldest_readable(lake)):
        raise InstantError(
            f"{table} can't be read as of {instant}: the cleaner may have removed what it was then, or it is from"
            f" before its first commit; from {oldest} on it is whole"
        )


def oldest_readable(lake: Lake) -> str:
    """Return the oldest instant, as Hudi writes it, at which all rows can be read now.

    Raises LakeError when there is no table or it can't be checked.
    """
    try:
        system, folder = _timeline(lake)
        names = (entry.base_name for entry in system.get_file_info(fs.FileSelector(folder)))
        found = [match for name in names if (match := _FILE.match(name))]
        commits = sorted(match["instant"] for match in found if match["action"] != "clean" and not match["state"])
        kept = [_kept(system, f"{folder}/{name}") for name in _newest_cleanings(found)]
    except (OSError, ValueError, KeyError, TypeError, pyarrow.ArrowException) as error:
        raise LakeError(f"{lake.base_uri}: its timeline can't be read: {error}") from error
    if not commits:
        raise LakeError(f"{lake.base_uri} has no commit yet")
    # A cleaning that keeps versions, not commits, doesn't record since when: only the newest is certain.
    return max([commits[0], *(instant or commits[-1] for instant in kept)])


def _timeline(lake: Lake) -> tuple[fs.FileSystem, str]:
    """Return where a table's timeline is: the file system, and the folder there."""
    if not lake.base_uri.startswith("s3://"):
        system, folder = fs.FileSystem.from_uri(lake.base_uri)
        return system, f"{folder}/{_TIMELINE}"
    scheme, _, host = lake.storage_options["aws_endpoint"].partition("://")
    region = lake.storage_options["aws_region"]
    system = fs.S3FileSystem(anonymous=True, scheme=scheme, endpoint_override=host, region=region)
    return system, f"{lake.base_uri.removeprefix('s3://')}/{_TIMELINE}"


def _newest_cleanings(found: Iterable[re.Match[str]]) -> list[str]:
    """Name the files of the newest completed cleaning, and of planned or running ones."""
    cleanings = [match for match in found if match["action"] == "clean"]
    done = {match["instant"] for match in cleanings if not match["state"]}
    planned = {match["instant"] for match in cleanings} - done
    return [*(f"{instant}.clean" for instant in sorted(done)[-1:]), *(f"{i}.clean.requested" for i in sorted(planned))]


def _kept(system: fs.FileSystem, path: str) -> str:
    """Return the oldest commit that a cleaning keeps, from its Avro record; empty where it doesn't record that."""
    with system.open_input_file(path) as file:
        [record] = cast(Iterator[dict[str, Any]], fastavro.reader(file))
    if path.endswith(".requested"):
        return str((record["earliestInstantToRetain"] or {}).get("timestamp") or "")
    return str(record["earliestCommitToRetain"] or "")
