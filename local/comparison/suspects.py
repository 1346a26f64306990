"""The keys that may differ: kept on disk by DuckDB, so that their number is bounded by the disk and not by memory.

A row's state is how often it is there and with which hashes. A key is settled once the lake's state is one that the
source has had at a position of this comparison: what came to the source since then is still on its way.
"""

# ruff: noqa: S608  # names are quoted; what isn't a name is a number or a parameter

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow

from local.comparison.lake import WANTED, LakeLook, chunk_sql
from local.comparison.rows import CHUNK_BITS, digest
from local.comparison.source import Chosen, Row, SourceLook

MEMORY = "256MB"
THREADS = 2
ABSENT = "0"
MISSING = f"lake = '{ABSENT}'"
EXTRA = f"source = '{ABSENT}'"
DIFFERENT = f"NOT ({MISSING} OR {EXTRA})"
_NOW = [f"{side}_now (key VARCHAR, id VARCHAR, hash VARCHAR)" for side in ("source", "lake")]
_STATES = "states (id VARCHAR, source VARCHAR, lake VARCHAR)"
_STATE = "SELECT id, concat(count(*), ':', string_agg(DISTINCT hash, ',' ORDER BY hash)) AS state FROM {} GROUP BY id"


class Suspects:
    """Keys of one table that differed at the newest look, in a DuckDB of their own (`engine`)."""

    def __init__(self, engine: duckdb.DuckDBPyConnection) -> None:
        self.engine = engine
        for table in (f"{WANTED} (key VARCHAR)", "versions (form VARCHAR, id VARCHAR, state VARCHAR)", *_NOW, _STATES):
            engine.execute(f"CREATE TABLE {table}")

    def look(self, source: SourceLook, lake: LakeLook, chosen: Chosen, *, tidied: bool) -> int:
        """Read the chosen rows of both sides and keep the keys that still differ; return how many rows that are.

        `tidied`: as Python spells them, which takes longer and tells what differs from what is spelled differently.
        Raises psycopg2.Error and LakeError.
        """
        for name in ("source_now", "lake_now", "states"):
            self.engine.execute(f"DELETE FROM {name}")
        for batch in source.tidied(chosen) if tidied else source.rows(chosen):
            self._insert("source_now", batch, tidied=tidied)
        if tidied:
            for batch in lake.tidied():
                self._insert("lake_now", batch, tidied=True)
        else:
            lake.insert(chosen, "lake_now")
        if chosen.suspected:
            self.engine.execute(f"DELETE FROM source_now WHERE key NOT IN (SELECT key FROM {WANTED})")
        self._settle("tidied" if tidied else "as written")
        return self.count()

    def _insert(self, into: str, batch: Sequence[Row], *, tidied: bool) -> None:
        rows = [[row.key for row in batch], [row.id for row in batch]]
        values = [digest(row.value) if tidied else row.value for row in batch]
        arrays = [pyarrow.array(column, pyarrow.string()) for column in (*rows, values)]
        self.engine.register("batch", pyarrow.Table.from_arrays(arrays, names=["key", "id", "hash"]))
        self.engine.execute(f"INSERT INTO {into} SELECT * FROM batch")
        self.engine.unregister("batch")

    def _settle(self, form: str) -> None:
        """Keep what differs from all that the source has been since the first look, and remember what it is now."""
        self.engine.execute(
            "INSERT INTO states SELECT coalesce(s.id, l.id), coalesce(s.state, $absent), coalesce(l.state, $absent)"
            f" FROM ({_STATE.format('source_now')}) AS s FULL JOIN ({_STATE.format('lake_now')}) AS l ON s.id = l.id"
            " WHERE s.state IS DISTINCT FROM l.state",
            {"absent": ABSENT},
        )
        self.engine.execute("INSERT INTO versions SELECT $form, id, source FROM states", {"form": form})
        self.engine.execute(
            "DELETE FROM states WHERE EXISTS"
            " (FROM versions AS v WHERE v.form = $form AND v.id = states.id AND v.state = states.lake)",
            {"form": form},
        )
        self.engine.execute(f"DELETE FROM {WANTED}")
        self.engine.execute(
            f"INSERT INTO {WANTED} SELECT DISTINCT key FROM (FROM source_now UNION ALL FROM lake_now) SEMI JOIN states"
            " USING (id)"
        )

    def count(self, condition: str = "true") -> int:
        """Return how many rows differ, or those of them that a condition on `source` and `lake` holds for."""
        (rows,) = self.engine.execute(f"SELECT count(*) FROM states WHERE {condition}").fetchone() or (0,)
        return int(rows)

    def chosen(self, most_keys: int) -> Chosen:
        """Return what to look at again: up to `most_keys` by their keys, more by the chunks that they are in."""
        if len(keys := self._column(f"SELECT key FROM {WANTED} LIMIT {most_keys + 1}")) <= most_keys:
            return Chosen(keys=keys, suspected=True)
        chunks = self._column(f"SELECT DISTINCT {chunk_sql('sha256(key)', CHUNK_BITS)} FROM {WANTED}")
        return Chosen(bits=CHUNK_BITS, chunks=frozenset(chunks), suspected=True)

    def choose(self, keys: Sequence[str]) -> Chosen:
        """Suspect these keys only."""
        self.engine.execute(f"DELETE FROM {WANTED}")
        self.engine.execute(f"INSERT INTO {WANTED} SELECT unnest($keys)", {"keys": list(keys)})
        return Chosen(keys=keys, suspected=True)

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Suspect the same keys after the block, whatever it chooses."""
        self.engine.execute(f"CREATE OR REPLACE TABLE kept AS FROM {WANTED}")
        yield
        self.engine.execute(f"DELETE FROM {WANTED}")
        self.engine.execute(f"INSERT INTO {WANTED} FROM kept")

    def keys(self, condition: str, batch: int) -> Iterator[list[str]]:
        """Yield the keys' texts, as the engines write them, of rows that a condition on `states` holds for."""
        with contextlib.closing(self.engine.cursor()) as engine:
            found = engine.execute(
                "SELECT DISTINCT key FROM (FROM source_now UNION ALL FROM lake_now) SEMI JOIN"
                f" (SELECT id FROM states WHERE {condition}) AS s USING (id) ORDER BY key"
            )
            while rows := found.fetchmany(batch):
                yield [key for (key,) in rows]

    def _column(self, query: str) -> list[Any]:
        return [value for (value,) in self.engine.execute(query).fetchall()]

    def some(self, condition: str, most: int) -> dict[str, list[str]]:
        """Return some rows that differ: what both sides' rows meet by, and their keys' texts."""
        return dict(
            self.engine.execute(
                "SELECT id, list_sort(list(DISTINCT key)) FROM (FROM source_now UNION ALL FROM lake_now) SEMI JOIN"
                f" (SELECT id FROM states WHERE {condition} ORDER BY id LIMIT {most}) AS s USING (id)"
                " GROUP BY id ORDER BY id"
            ).fetchall()
        )


@contextlib.contextmanager
def suspects() -> Iterator[Suspects]:
    """Make a place for a table's keys, which is gone afterwards."""
    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": MEMORY,
        "threads": THREADS,
        "preserve_insertion_order": False,
        "autoinstall_known_extensions": False,
    }
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="comparison-")))
        engine = stack.enter_context(contextlib.closing(duckdb.connect(folder / "suspects.duckdb", config=settings)))
        engine.execute("SET TimeZone = 'UTC'")
        yield Suspects(engine)
