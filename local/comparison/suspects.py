"""The keys that may differ, kept on disk by DuckDB, so that disk and not memory limits their number.

A row's state is its number of occurrences and their hashes. A key is settled once the lake's state matches one that the
source has had at a position of this comparison: later source changes are still on their way. A key is proven to differ
once the lake, after reaching a pass, differed from a row that was unchanged from that pass until after the lake was
read.
"""

# ruff: noqa: S608  # names are quoted; what isn't a name is a number or a parameter

import contextlib
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pyarrow

from local.comparison.lake import WANTED, LakeLook, chunk_sql
from local.comparison.rows import CHUNK_BITS, ComparedTable, Row, RowFilter, digest
from local.comparison.source import SourceLook, looks
from local.errors import PlatformError

MEMORY = "256MB"
THREADS = 2
# Up to this many keys are noted between two passes, at most this often, and at most a fiftieth of the time.
NOTED_KEYS = 100
NOTE_S = 0.05
REST = 50
ABSENT = "0"
# Proven differences, by kind; unproven ones are late.
MISSING = f"(proven AND lake = '{ABSENT}')"
EXTRA = f"(proven AND source = '{ABSENT}')"
DIFFERENT = f"(proven AND lake <> '{ABSENT}' AND source <> '{ABSENT}')"
IN_THE_SOURCE = f"({MISSING} OR {DIFFERENT})"
LATE = "NOT proven"
KINDS = {"missing": MISSING, "extra": EXTRA, "different": DIFFERENT, "late": LATE}
_TABLES = (
    f"{WANTED} (key VARCHAR)",
    "versions (form VARCHAR, id VARCHAR, state VARCHAR)",
    "source_now (key VARCHAR, id VARCHAR, hash VARCHAR, version VARCHAR)",
    "lake_now (key VARCHAR, id VARCHAR, hash VARCHAR)",
    "states (id VARCHAR, source VARCHAR, lake VARCHAR, proven BOOLEAN)",
    # The pass since which a key's row, or its absence, has been unchanged.
    "steady (key VARCHAR, version VARCHAR, since INTEGER)",
)
_BOTH = "both_now"
_STATE = "concat(count(*), ':', string_agg(DISTINCT hash, ',' ORDER BY hash)) AS state"


class Suspects:
    """Keys of one table that differed in the newest pass, in their own DuckDB (`engine`)."""

    def __init__(self, engine: duckdb.DuckDBPyConnection) -> None:
        self.engine = engine
        self.looks = 0
        # The commit that lake_now was read from, and its form.
        self._lake_read: tuple[str | None, bool] | None = None
        for table in _TABLES:
            engine.execute(f"CREATE TABLE {table}")
        engine.execute(f"CREATE VIEW {_BOTH} AS SELECT key, id FROM source_now UNION ALL SELECT key, id FROM lake_now")

    def look(
        self, source: SourceLook, lake: LakeLook, chosen: RowFilter, *, tidied: bool, passed: int | None = None
    ) -> int:
        """Read the chosen rows of both sides and keep the keys that still differ; return the number of differing rows.

        `tidied`: in Python's spelling, which is slower but ignores differences in spelling. `passed`: the number (from
        1) of a pass that the lake had reached before it was read for the pass before this one; None when unknown.
        Raises psycopg2.Error and LakeError.
        """
        self.looks += 1
        self.engine.execute("DELETE FROM states")
        self._read_source(source, chosen, tidied=tidied)
        self._read_lake(lake, chosen, tidied=tidied)
        self._settle("tidied" if tidied else "as written")
        self._note_what_rests()
        if passed is not None:
            self._prove(passed)
        return self.count()

    @contextlib.contextmanager
    def noting(self, parameters: Mapping[str, Any], table: ComparedTable) -> Iterator[None]:
        """Note the suspected rows' states at the source until the context ends; too many keys aren't noted.

        The lake shows rows that always change later. Raises psycopg2.Error.
        """
        chosen = self.chosen(NOTED_KEYS)
        if chosen.keys is None:
            yield
            return
        over = threading.Event()
        with ThreadPoolExecutor(1) as thread:
            noted = thread.submit(_states, parameters, table, chosen, over)
            try:
                yield
            finally:
                over.set()
            self._remember(noted.result())

    def _remember(self, states: Collection[tuple[str, tuple[str, ...]]]) -> None:
        """Remember states that the source had since the last pass, in Python's spelling: a row's id and hashes."""
        occurrences = [(number, id_, hash_) for number, (id_, hashes) in enumerate(states) for hash_ in hashes]
        if occurrences:
            numbers, ids, all_hashes = zip(*occurrences, strict=True)
            self.engine.register("noted", pyarrow.table({"n": numbers, "id": ids, "hash": all_hashes}))
            states_of = f"SELECT n, id, {_STATE} FROM noted GROUP BY n, id"
            self.engine.execute(f"INSERT INTO versions SELECT 'tidied', id, state FROM ({states_of})")
            self.engine.unregister("noted")

    def _read_source(self, source: SourceLook, chosen: RowFilter, *, tidied: bool) -> None:
        self.engine.execute("DELETE FROM source_now")
        for batch in source.tidied(chosen) if tidied else source.rows(chosen):
            self._insert("source_now", batch, tidied=tidied)
        if chosen.suspected:
            self.engine.execute(f"DELETE FROM source_now WHERE key NOT IN (SELECT key FROM {WANTED})")

    def _want(self, query: str, **parameters: Any) -> None:
        self.engine.execute(f"CREATE OR REPLACE TABLE {WANTED} AS {query}", parameters)

    def _read_lake(self, lake: LakeLook, chosen: RowFilter, *, tidied: bool) -> None:
        """Fill lake_now; rows of the same commit and of these keys or more are read only once."""
        newest = (lake.table.lake.last_commit(), tidied)
        if chosen.suspected and newest == self._lake_read and newest[0] is not None:
            self.engine.execute(f"DELETE FROM lake_now WHERE key NOT IN (SELECT key FROM {WANTED})")
            return
        self._lake_read = None
        self.engine.execute("DELETE FROM lake_now")
        if tidied:
            for batch in lake.tidied():
                self._insert("lake_now", batch, tidied=True)
        else:
            lake.insert(chosen, "lake_now")
        self._lake_read = newest

    def _insert(self, into: str, batch: Sequence[Row], *, tidied: bool) -> None:
        values = [digest(row.value) if tidied else row.value for row in batch]
        rows = {"key": [row.key for row in batch], "id": [row.id for row in batch], "hash": values}
        if into == "source_now":
            rows["version"] = [row.version for row in batch]
        arrays = [pyarrow.array(column, pyarrow.string()) for column in rows.values()]
        self.engine.register("batch", pyarrow.Table.from_arrays(arrays, names=list(rows)))
        self.engine.execute(f"INSERT INTO {into} SELECT * FROM batch")
        self.engine.unregister("batch")

    def _note_what_rests(self) -> None:
        now = "SELECT key, string_agg(version, ',' ORDER BY version) AS version FROM source_now GROUP BY key"
        self.engine.execute(
            "CREATE OR REPLACE TABLE steady AS SELECT w.key, coalesce(s.version, '') AS version,"
            " CASE WHEN b.version = coalesce(s.version, '') THEN b.since ELSE $look END AS since"
            f" FROM {WANTED} AS w LEFT JOIN ({now}) AS s USING (key) LEFT JOIN steady AS b USING (key)",
            {"look": self.looks},
        )

    def _prove(self, passed: int) -> None:
        """Mark keys that differ although the lake had reached a pass since which the row hasn't changed."""
        self.engine.execute(
            "UPDATE states SET proven ="
            f" id NOT IN (SELECT id FROM {_BOTH} JOIN steady USING (key) WHERE since > $passed)",
            {"passed": passed},
        )

    def prove_all(self) -> None:
        """Treat all differences as real: the lake's progress is unknown, and the time is over."""
        self.engine.execute("UPDATE states SET proven = true")

    def begin_again(self) -> int:
        """Suspect all differing rows again: a repair may change the lake. Return the last pass's number."""
        self.engine.execute("DELETE FROM steady")
        self._want_differing()
        return self.looks

    def _settle(self, form: str) -> None:
        """Keep keys that differ from every source state since the first pass, and remember the current state."""
        self.engine.execute(
            "INSERT INTO states"
            " SELECT coalesce(s.id, l.id), coalesce(s.state, $absent), coalesce(l.state, $absent), false"
            f" FROM (SELECT id, {_STATE} FROM source_now GROUP BY id) AS s"
            f" FULL JOIN (SELECT id, {_STATE} FROM lake_now GROUP BY id) AS l ON s.id = l.id"
            " WHERE s.state IS DISTINCT FROM l.state",
            {"absent": ABSENT},
        )
        self.engine.execute("INSERT INTO versions SELECT $form, id, source FROM states", {"form": form})
        self.engine.execute(
            "DELETE FROM states WHERE EXISTS"
            " (FROM versions AS v WHERE v.form = $form AND v.id = states.id AND v.state = states.lake)",
            {"form": form},
        )
        self._want_differing()

    def _want_differing(self) -> None:
        self._want(f"SELECT DISTINCT key FROM {_BOTH} SEMI JOIN states USING (id)")

    def count(self, condition: str = "true") -> int:
        """Count the differing rows, or those that meet a condition on `source` and `lake`."""
        (rows,) = self.engine.execute(f"SELECT count(*) FROM states WHERE {condition}").fetchone() or (0,)
        return int(rows)

    def chosen(self, most_keys: int) -> RowFilter:
        """Choose what to compare again: up to `most_keys` by key, more by their chunks."""
        if len(keys := self._column(f"SELECT key FROM {WANTED} LIMIT {most_keys + 1}")) <= most_keys:
            return RowFilter(keys=keys, suspected=True)
        chunks = self._column(f"SELECT DISTINCT {chunk_sql('sha256(key)', CHUNK_BITS)} FROM {WANTED}")
        return RowFilter(bits=CHUNK_BITS, chunks=frozenset(chunks), suspected=True)

    def choose(self, keys: Sequence[str]) -> RowFilter:
        self._want("SELECT unnest($keys::VARCHAR[]) AS key", keys=list(keys))
        return RowFilter(keys=keys, suspected=True)

    def keys(self, condition: str) -> list[str]:
        """Return the key texts, as the engines write them, of rows that meet a condition on `states`."""
        chosen = f"SELECT id FROM states WHERE {condition}"
        return self._column(f"SELECT DISTINCT key FROM {_BOTH} SEMI JOIN ({chosen}) AS s USING (id) ORDER BY key")

    def _column(self, query: str) -> list[Any]:
        return [value for (value,) in self.engine.execute(query).fetchall()]

    def some(self, condition: str, most: int) -> dict[str, list[str]]:
        """Return some differing rows: the text that matches both sides' rows, and their keys' texts."""
        return dict(
            self.engine.execute(
                f"SELECT id, list_sort(list(DISTINCT key)) FROM {_BOTH} SEMI JOIN"
                f" (SELECT id FROM states WHERE {condition} ORDER BY id LIMIT {most}) AS s USING (id)"
                " GROUP BY id ORDER BY id"
            ).fetchall()
        )


def _states(
    parameters: Mapping[str, Any], table: ComparedTable, chosen: RowFilter, over: threading.Event
) -> Collection[tuple[str, tuple[str, ...]]]:
    """Return the states that were seen: a row's id, and the hashes of its occurrences."""
    seen: set[tuple[str, tuple[str, ...]]] = set()
    with contextlib.closing(looks(parameters, table)) as states:
        while not over.is_set():
            began = time.monotonic()
            hashes = defaultdict(list)
            for batch in next(states).tidied(chosen):
                for row in batch:
                    hashes[row.id].append(digest(row.value))
            seen |= {(id_, tuple(sorted(some))) for id_, some in hashes.items()}
            over.wait(max(NOTE_S, REST * (time.monotonic() - began)))
    return seen


@contextlib.contextmanager
def suspects() -> Iterator[Suspects]:
    """Open them in a temporary folder. Raises PlatformError when there is no room for them."""
    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": MEMORY,
        "threads": THREADS,
        "preserve_insertion_order": False,
        "autoinstall_known_extensions": False,
    }
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="comparison-")))
        try:
            database = duckdb.connect(folder / "suspects.duckdb", config=settings)
            engine = stack.enter_context(contextlib.closing(database))
            engine.execute("SET TimeZone = 'UTC'")
            yield Suspects(engine)
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise PlatformError(f"the rows that differ can't be kept in {folder}: {reason}") from error
