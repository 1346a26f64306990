"""Hudi tables of a few rows, written as files: each commit rewrites one file, as Hudi does (copy on write)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet as pq

from local.look.lake import Lake
from local.query.query import COMMIT, KEY
from spark_jobs.options.keys import PROGRESS

PROPERTIES = """\
hoodie.table.name=t
hoodie.table.type=COPY_ON_WRITE
hoodie.table.version=6
hoodie.timeline.layout.version=1
hoodie.table.base.file.format=PARQUET
hoodie.datasource.write.hive_style_partitioning=false
"""
HUDIS = (COMMIT, "_hoodie_commit_seqno", KEY, "_hoodie_partition_path", "_hoodie_file_name")
FILE = "00000000-e87f-4df5-a849-f574bab636e7-0"


class HudiFiles:
    """A table in a folder, of one file; `rows` are those of the newest commit, by key."""

    def __init__(self, folder: Path, schema: pyarrow.Schema, *, key: str = "id") -> None:
        """`schema`: the columns that aren't Hudi's."""
        self.folder = folder
        self.rows: dict[str, dict[str, Any]] = {}
        self._schema = schema
        self._key = key
        self._timeline = folder / ".hoodie"
        self._timeline.mkdir(parents=True)
        (self._timeline / "hoodie.properties").write_text(PROPERTIES)
        self._last = "null"

    @property
    def lake(self) -> Lake:
        return Lake(base_uri=self.folder.as_uri())

    def path(self, instant: str) -> Path:
        return self.folder / f"{FILE}_0-1-1_{instant}.parquet"

    def commit(
        self, instant: str, *written: Mapping[str, Any], deleted: tuple[int, ...] = (), progress: str | None = None
    ) -> None:
        """Insert and update rows, and delete rows by key; `progress`: the job's, as its commits have it."""
        for row in written:
            self.rows[str(row[self._key])] = {COMMIT: instant, **row}
        for key in deleted:
            del self.rows[str(key)]
        rows = [{**dict.fromkeys(HUDIS, ""), KEY: key, **row} for key, row in self.rows.items()]
        hudis = [pyarrow.field(name, pyarrow.string()) for name in HUDIS]
        pq.write_table(pyarrow.Table.from_pylist(rows, pyarrow.schema([*hudis, *self._schema])), self.path(instant))
        stat = {"fileId": FILE, "path": self.path(instant).name, "prevCommit": self._last}
        extra = {} if progress is None else {PROGRESS: progress}
        metadata = {"partitionToWriteStats": {"": [stat]}, "extraMetadata": extra, "operationType": "UPSERT"}
        for state in (".commit.requested", ".inflight"):
            (self._timeline / f"{instant}{state}").touch()
        (self._timeline / f"{instant}.commit").write_text(json.dumps(metadata))
        self._last = instant
