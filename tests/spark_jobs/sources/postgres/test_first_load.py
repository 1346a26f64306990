"""A captured table's rows come from the database at first, and its events go on from there: nothing is lost."""

import hashlib
import itertools
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import Mock

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from contract.column_types.catalogue import ColumnType
from contract.events import ADDED_TYPES, PLACEHOLDER
from local.services.postgres import ConnectionParameters
from spark_jobs.errors import SettingsError
from spark_jobs.ingest import Ingest
from spark_jobs.options import keys
from spark_jobs.runtime import row_progress
from spark_jobs.sources.postgres import first_load, hashing
from spark_jobs.sources.postgres.event_sql import SourceColumn
from spark_jobs.sources.postgres.snapshot import snapshot_look
from tests import cases
from tests.cases import long
from tests.conftest import ask, execute
from tests.db.conftest import role_of
from tests.spark_jobs.events import TOPIC, as_lines
from tests.spark_jobs.sources.postgres import written_log
from tests.spark_jobs.sources.postgres.conftest import Queried
from tests.spark_jobs.sources.postgres.test_bulk_loads import UNBUCKETED

pytestmark = pytest.mark.integration

W: Mapping[str, Any] = {"id": "int", "v": "int", "large": "string"}


@dataclass
class Loaded(Queried):
    """A table in PostgreSQL, whose connector is played by the test, and the lake's table."""

    OWN: ClassVar[Sequence[str]] = ()
    ADDED = ADDED_TYPES
    landed: int = 0

    def properties(self) -> dict[str, str]:
        own = {
            keys.FILES_ROOT: str(self.folder / "landing"),
            keys.FIRST_LOAD_SLOT: self.parameters["dbname"],
            keys.FIRST_LOAD_PUBLICATION: "w",
            keys.JDBC_SWEEP: "",
            # Tables share these: a load that needed a second one would wait for another's.
            f"{keys.JDBC_PREFIX}connections": "1",
            **self.extra,
        }
        return {key: value for key, value in {**super().properties(), **own}.items() if value}

    def land(self) -> None:
        """Land the slot's changes as the connector would, 150 in an object."""
        events = map(_event, written_log.changes(self.parameters))
        for lines in iter(lambda: [*itertools.islice(events, 150)], []):
            self.put(lines)

    def put(self, lines: Sequence[dict[str, Any]]) -> None:
        self.landed += len(lines)
        path = self.folder / "landing" / TOPIC / "0" / f"{self.landed:012d}_1_2.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(as_lines(lines))


def _event(change: written_log.Change) -> dict[str, Any]:
    """As Debezium writes it: all of a row's columns, also those that weren't sent, and the metadata."""
    row: dict[str, Any] = dict.fromkeys(W)
    if change.values is not None:
        row |= {"v": int(str(change.values["v"])), "large": change.values.get("large", PLACEHOLDER)}
    return {
        **row,
        "id": change.key,
        "__deleted": "true" if change.values is None else "false",
        "__op": "d" if change.values is None else "u",
        "__db": "db",
        "__table": "w",
        "__schema": "public",
        "__lsn": change.position,
        "__source_ts_ms": 1,
        "__source_txId": change.transaction % 2**32,
    }


@pytest.fixture
def loaded(spark: SparkSession, database: ConnectionParameters, tmp_path: Path) -> Iterator[Loaded]:
    """A table of 20 rows of three columns, published, with a slot."""
    execute(database, written_log.TABLE)
    execute(database, f"INSERT INTO w SELECT i, i, {written_log.LARGE} FROM generate_series(1, 20) AS i")
    (tmp_path / "landing").mkdir()
    with written_log.slot(database):
        yield Loaded(spark, tmp_path, parameters=database, fields=W, key="id", table_name="public.w")


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of more than 64 KiB is read in parts, with its columns' types."""
    for name in ("SMALL_BYTES", "_BYTES_PER_PART"):
        monkeypatch.setattr(first_load, name, 64 << 10)


def in_the_lake(loaded: Loaded) -> dict[int, tuple[int, str]]:
    return {key: (row["v"], row["large"]) for key, row in loaded.lake().items()}


@pytest.mark.parametrize("again", [1, long(3)])
def test_rows_and_events_that_are_written_meanwhile_are_the_table(loaded: Loaded, again: int) -> None:
    """At the first load, and where all is read again."""
    # Each object is a commit: a repeated event isn't overtaken in its own batch.
    loaded.arguments, chance = ("--source-limit", "1"), cases.chance()
    with written_log.writers(loaded.parameters, chance.randrange(10**9)):
        time.sleep(0.2)
        report = loaded.job().run_batch()
        time.sleep(0.1)
    loaded.land()
    more = loaded.run()
    assert report is not None
    assert report.upserts == report.events > 0
    assert sum(each.events for each in more) > 0
    assert not any(each.quarantined for each in more)
    assert in_the_lake(loaded) == written_log.rows(loaded.parameters)
    loaded.arguments = ()
    for number in range(again):
        with written_log.writers(loaded.parameters, chance.randrange(10**9)):
            time.sleep(0.1)
            loaded.land()
            loaded.run()
            time.sleep(0.1)
            loaded.arguments = ("--ignore-checkpoint", str(number))
            job = loaded.job()
            assert job.run_batch() is not None
            time.sleep(0.1)
        loaded.land()
        loaded.run(job)
        assert in_the_lake(loaded) == written_log.rows(loaded.parameters)


MANY = f"INSERT INTO {{}} SELECT i, i, {written_log.LARGE} FROM generate_series({{}}, {{}}) AS i"
ODD = f"UPDATE w SET large = '{PLACEHOLDER}' WHERE id = 7"
HEIRS = "CREATE TABLE c () INHERITS (w); INSERT INTO c VALUES (2000, 1, 'an heir')"
GENERATED = "ALTER TABLE w ADD twice int GENERATED ALWAYS AS (v * 2) STORED"


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize(
    ("change", "rows", "quarantined"),
    [
        pytest.param("DELETE FROM w", 0, 0, id="empty"),
        pytest.param(f"{MANY.format('w', 21, 1500)}; {ODD}; {GENERATED}; {HEIRS}", 1499, 1, id="in parts"),
    ],
)
def test_all_rows_of_a_table_come_and_then_its_events(loaded: Loaded, change: str, rows: int, quarantined: int) -> None:
    loaded.execute(change, "ANALYZE w")
    [report] = loaded.run()
    assert (report.upserts, report.quarantined) == (rows, quarantined)
    there = written_log.rows(loaded.parameters, "ONLY w")
    assert in_the_lake(loaded) == {key: row for key, row in there.items() if row[1] != PLACEHOLDER}
    loaded.execute("INSERT INTO w VALUES (5000, 1, 'new'); UPDATE w SET v = -1 WHERE id = 5")
    loaded.land()
    loaded.run()
    assert in_the_lake(loaded)[5000] == (1, "new")
    assert "twice" not in loaded.stored()[0]
    assert {key: v for key, (v, _) in in_the_lake(loaded).items() if v == -1} == ({5: -1} if rows else {})


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize(
    ("last", "rewrites"),
    [
        (21, "ALTER TABLE w ALTER v TYPE bigint"),
        (1500, "TRUNCATE w; INSERT INTO w VALUES (1, 1, 'new')"),
    ],
)
def test_a_table_that_was_rewritten_meanwhile_is_read_again(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch, last: int, rewrites: str
) -> None:
    """Its rows aren't in the snapshot, and an ALTER TABLE has no event."""
    loaded.execute(MANY.format("w", 21, last))

    def rewritten(*given: Any) -> Any:
        found = snapshot_look(*given)
        loaded.execute(rewrites)
        return found

    job = loaded.job()
    with monkeypatch.context() as patch:
        patch.setattr(first_load, "snapshot_look", rewritten)
        with pytest.raises(Py4JJavaError, match=r"public\.w was truncated or rewritten while it was read"):
            job.run_batch()
    assert loaded.commits() == 0
    loaded.run(job)
    assert in_the_lake(loaded) == written_log.rows(loaded.parameters)


def test_a_load_waits_until_a_connector_with_a_snapshot_of_its_own_would_go_on_where_it_streams(
    loaded: Loaded,
) -> None:
    """One that stops before it has stored that begins its snapshot again, and goes on behind what was changed then."""
    loaded.extra = {keys.FIRST_LOAD_AFTER: "true"}
    job = loaded.job()
    assert loaded.run(job) == loaded.run(job) == []
    with written_log.reader(loaded.parameters):
        assert loaded.run(job) == loaded.run(job) == []
    with written_log.reader(loaded.parameters) as store:
        # Of an earlier moment than the load knows of this reader.
        store()
        assert loaded.run(job) == loaded.run(job) == []
        store()
        assert sum(report.upserts for report in loaded.run(job)) == 20
    assert in_the_lake(loaded) == written_log.rows(loaded.parameters)


@pytest.fixture
def bound(loaded: Loaded) -> Iterator[dict[str, str]]:
    """The login of a role without rights on the table, and with a limit that a load exceeds."""
    with role_of(loaded.parameters, "bound") as login:
        loaded.execute("ALTER ROLE bound REPLICATION; ALTER ROLE bound SET idle_in_transaction_session_timeout = 50")
        yield {keys.JDBC_USER: login["user"], keys.JDBC_PASSWORD: login["password"]}


def test_rows_that_a_policy_may_hide_end_the_load(
    loaded: Loaded, bound: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(*given: Any) -> Any:
        found = snapshot_look(*given)
        time.sleep(0.2)
        return found

    monkeypatch.setattr(first_load, "snapshot_look", slowly)
    loaded.extra = bound
    loaded.execute(
        "GRANT SELECT ON w TO bound; ALTER TABLE w ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY whole ON w FOR SELECT TO bound USING (TRUE)",
        "CREATE POLICY less ON w AS RESTRICTIVE USING (id < 9)",
    )
    job = loaded.job()
    with pytest.raises(Py4JJavaError, match='query would be affected by row-level security policy for table "w"'):
        job.run_batch()
    loaded.execute("ALTER POLICY less ON w TO CURRENT_USER")
    [report] = loaded.run(job)
    assert report.upserts == 20


AGAIN = ("--ignore-checkpoint", "again")
FOLDERS = {**UNBUCKETED, "hoodie.datasource.write.partitionpath.field": "v", keys.KEY_GENERATOR: ""}


@pytest.mark.parametrize("kind", ["MERGE_ON_READ", long("COPY_ON_WRITE")])
def test_a_table_that_is_read_again_is_the_sources(loaded: Loaded, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Whatever became of its events: here those of some changes are lost, and others land only afterwards.

    The server was restored, too: its log is behind the position of the load before.
    """
    loaded.arguments = ("--table-type", kind)

    def ahead(*given: Any) -> Any:
        look, snapshot = snapshot_look(*given)
        return look, replace(snapshot, position=10**15)

    with monkeypatch.context() as patch:
        patch.setattr(first_load, "snapshot_look", ahead)
        loaded.run()
    loaded.execute(
        "DELETE FROM w WHERE id < 3; UPDATE w SET v = -1 WHERE id = 5", "INSERT INTO w VALUES (50, 1, 'new')"
    )
    assert len([*written_log.changes(loaded.parameters)]) == 4
    loaded.execute("UPDATE w SET v = -2 WHERE id = 6; INSERT INTO w VALUES (60, 1, 'new'); DELETE FROM w WHERE id = 9")
    # A position that the source's log doesn't have any more.
    loaded.put([_event(written_log.Change(1, 10**15, 8, {"v": "-9", "large": "lost"}))])
    loaded.run()
    loaded.arguments = ("--table-type", kind, *AGAIN)
    job = loaded.job()
    assert job.awaits_load
    [report] = loaded.run(job)
    there = written_log.rows(loaded.parameters)
    assert (report.events, report.upserts, report.deletes, report.quarantined) == (len(there), 5, 3, 0)
    assert in_the_lake(loaded) == there
    # Its request counts once; the events that it contains are passed over, and later ones win.
    loaded.execute(
        "UPDATE w SET v = -3 WHERE id IN (5, 7); DELETE FROM w WHERE id = 50; INSERT INTO w VALUES (1, 1, 'x')"
    )
    loaded.land()
    [report] = loaded.run()
    assert (report.upserts, report.deletes) == (3, 1)
    assert in_the_lake(loaded) == written_log.rows(loaded.parameters)


def test_a_table_in_folders_that_is_read_again_is_the_sources(loaded: Loaded) -> None:
    loaded.extra = FOLDERS
    loaded.execute("UPDATE w SET v = id % 2")
    loaded.run()
    loaded.execute("DELETE FROM w WHERE id < 3; UPDATE w SET v = 0 WHERE id = 5")
    loaded.arguments = AGAIN
    [report] = loaded.run()
    # Hudi also counts a delete for the row that gets into another folder.
    assert (report.upserts, report.deletes) == (1, 3)
    assert in_the_lake(loaded) == written_log.rows(loaded.parameters)


def test_a_row_that_does_not_fit_when_all_is_read_again_stays_and_no_other_is_there_twice(loaded: Loaded) -> None:
    loaded.extra, loaded.arguments = UNBUCKETED, ("--op", "BULK_INSERT")
    loaded.run()
    before = in_the_lake(loaded)
    loaded.execute("ALTER TABLE w ALTER v TYPE bigint; UPDATE w SET v = 5000000000 WHERE id = 9")
    loaded.execute(ODD, "UPDATE w SET v = -1 WHERE id = 8; DELETE FROM w WHERE id = 10", HEIRS)
    loaded.arguments = (*loaded.arguments, *AGAIN)
    [report] = loaded.run()
    assert (report.upserts, report.deletes, report.quarantined) == (1, 0, 2)
    # Any other may be the one that doesn't fit, which the source has.
    stays = {key: before[key] for key in (7, 9, 10)}
    assert in_the_lake(loaded) == written_log.rows(loaded.parameters, "ONLY w") | stays


def test_rows_that_the_connector_had_read_before_are_passed_over(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have no transaction, and may have only a time, not of the database's clock. Later settings do nothing."""
    now = time.time_ns() // 1_000_000 + 3_600_000
    monkeypatch.setattr(time, "time_ns", lambda: now * 1_000_000)
    stale = {"v": -1, "large": "old", "__deleted": "false", "__op": "r", "__source_ts_ms": 1}
    loaded.put([{"id": 1, **stale, "__lsn": None}])
    loaded.run()
    loaded.put([{"id": 2, **stale, "__lsn": 100}, {"id": 3, **stale, "__lsn": None, "__source_ts_ms": now - 1}])
    loaded.extra = {keys.FIRST_LOAD_SLOT: "", keys.FIRST_LOAD_PUBLICATION: ""}
    loaded.run()
    there = written_log.rows(loaded.parameters)
    assert in_the_lake(loaded) == there
    # One that was read since then is a repair.
    loaded.put([{"id": 4, **stale, "__lsn": None, "__source_ts_ms": now}])
    loaded.run()
    assert in_the_lake(loaded) == there | {4: (-1, "old")}


def told_by(job: Ingest, said: list[str]) -> None:
    """Have a job tell a test how far its load is."""
    assert job._first_load is not None
    job._first_load.say = said.append
    job._row_progress = replace(job._row_progress, say=said.append)


def test_a_load_tells_how_far_it_is(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_load, "_BYTES_PER_PART", 1 << 20)
    monkeypatch.setattr(row_progress, "EVERY_S", 0.02)
    loaded.execute(
        "ALTER TABLE w SET (autovacuum_enabled = off)",
        "INSERT INTO w SELECT i, i, repeat('x', 100) FROM generate_series(21, 50000) AS i",
    )
    said, job = list[str](), loaded.job()
    batch = job._next_batch()
    assert isinstance(batch, first_load.LoadBatch)
    assert 0 < abs(batch.count - 50_000) < 5_000
    loaded.execute("ANALYZE w")
    told_by(job, said)
    loaded.run(job)
    lines = [*dict.fromkeys(said)]
    assert lines[:2] == [
        "waits for a snapshot: the transactions that run now have to end",
        "waits for its turn to be read",
    ]
    estimates = {int(found[1].replace(",", "")) for line in lines if (found := re.search(r"of about ([\d,]+)", line))}
    assert estimates == {50_000}
    assert any(re.fullmatch(r"[1-9][\d,]* of about .*, [\d,]+ rows/s, \d+ s of reading left", line) for line in lines)
    assert any(re.fullmatch(r"about [\d,]+ rows read, writing them", line) for line in lines)
    assert not job.awaits_load


@pytest.mark.parametrize("lacking", [{keys.FIRST_LOAD_SLOT: "none"}, {keys.FIRST_LOAD_PUBLICATION: "none"}])
def test_a_load_waits_for_the_connector(loaded: Loaded, lacking: dict[str, str]) -> None:
    """What comes after the rows would be lost otherwise."""
    loaded.extra = lacking
    said, job = list[str](), loaded.job()
    told_by(job, said)
    assert (loaded.run(job), job.awaits_load, loaded.commits()) == ([], True, 0)
    [line] = said
    assert line.startswith("waits until slot ")
    assert line.endswith("with public.w")


@pytest.mark.usefixtures("parts")
def test_a_history_begins_with_the_first_rows(loaded: Loaded) -> None:
    loaded.extra, loaded.arguments = {keys.HISTORY_KEPT: "true"}, ("--table-type", "MERGE_ON_READ")
    loaded.execute(MANY.format("w", 21, 1500))
    loaded.run()
    events = loaded.spark.read.parquet(f"{loaded.settings().events_path}/*")
    assert (events.count(), events.select("row.id").distinct().count(), len(in_the_lake(loaded))) == (1500, 1500, 1500)


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize("last", [21, 1500])
def test_a_table_without_a_key_gets_each_row_and_then_each_event_once(loaded: Loaded, last: int) -> None:
    """Equal rows stay apart, and an event of the rows' own transactions isn't a row again."""
    loaded.key = ""
    loaded.extra = {keys.APPEND_ONLY: "true", keys.RECORD_KEY: ""}
    loaded.execute("ALTER TABLE w DROP CONSTRAINT w_pkey; ALTER TABLE w REPLICA IDENTITY FULL")
    loaded.execute(MANY.format("w", 21, last), "INSERT INTO w VALUES (7, 7, 'same'), (7, 7, 'same')")
    before = ask(loaded.parameters, "SELECT count(*) FROM w")
    loaded.run()
    loaded.execute(
        "INSERT INTO w VALUES (7, 7, 'same'), (5000, 1, 'new'); UPDATE w SET v = -1, large = 'x' WHERE id = 5"
    )
    loaded.land()
    loaded.run()
    rows = loaded.frame().collect()
    assert (len(rows), sum(row.large == "same" for row in rows), sum(row.v == -1 for row in rows)) == (before + 3, 3, 1)
    assert len({row._hoodie_record_key for row in rows}) == before + 3
    there = sorted(map(repr, loaded.stored()))
    # The source's rows can't replace those: where progress is ignored, what has landed is read again.
    loaded.arguments = AGAIN
    job = loaded.job()
    assert not job.awaits_load
    loaded.run(job)
    assert sorted(map(repr, loaded.stored())) == there


SALT = "0123456789'$abcdef"
HASHED = "mail,code,brief,padded,mood"
COLUMNS = [SourceColumn(name=name, type=ColumnType(name=kind)) for name, kind in (("v", "int4"), ("large", "text"))]


def as_hashed(text: str | None, digits: int = 64) -> str | None:
    return None if text is None else hashlib.sha256(f"{SALT}{text}".encode()).hexdigest()[:digits]


@pytest.mark.usefixtures("parts")
def test_columns_are_hashed_as_the_connector_does_and_the_salt_is_shown_nowhere(
    loaded: Loaded, bound: dict[str, str], postgres_log: Path
) -> None:
    salt, last = loaded.folder / "salt", 1500
    salt.write_text(f"{SALT}\n")
    loaded.extra = {keys.FIRST_LOAD_HASHED: HASHED, keys.FIRST_LOAD_SALT_FILE: str(salt), **bound}
    exact = {"type": "string", "connect.name": "io.debezium.data.VariableScaleDecimal"}
    loaded.fields = {**W, **dict.fromkeys(HASHED.split(","), "string"), "exact": exact}
    loaded.execute(
        MANY.format("w", 21, last),
        "CREATE TYPE mood AS ENUM ('', 'so so')",
        "CREATE DOMAIN brief AS varchar(10)",
        "ALTER TABLE w ADD mail text, ADD code varchar(10), ADD brief brief, ADD padded char(6), ADD mood mood",
        "UPDATE w SET mail = 'ä@b' || id, code = 'c', brief = 'd', padded = 'ab', mood = '' WHERE id > 1; ANALYZE w",
        f"UPDATE w SET mail = '{PLACEHOLDER}' WHERE id = 2",
        # This row travels as a line.
        "ALTER TABLE w ADD exact numeric; UPDATE w SET exact = 'NaN' WHERE id = 3",
        f"GRANT SELECT (id, v, large, exact, {HASHED}) ON w TO bound",
        "ALTER SYSTEM SET log_statement = 'all'; ",
        "ALTER SYSTEM SET log_min_messages = 'debug5'; ",
        "SELECT pg_reload_conf()",
    )
    batch = loaded.job()._next_batch()
    assert isinstance(batch, first_load.LoadBatch)
    [report] = loaded.run()
    # The role may read the table then, not just its columns by name: its pages are read in parts.
    loaded.execute("GRANT SELECT ON w TO bound")
    loaded.arguments = AGAIN
    # A commit says that the request was met, though nothing has changed.
    [again] = loaded.run()
    assert (report.upserts, again.upserts, again.deletes) == (last, 0, 0)
    assert (report.files, again.files > 1, loaded.job().awaits_load) == (1, True, False)
    loaded.execute("ALTER SYSTEM RESET ALL; ", "SELECT pg_reload_conf()")
    rows = {row["id"]: tuple(row[name] for name in HASHED.split(",")) for row in loaded.stored()}
    others = (as_hashed("c", 10), as_hashed("d", 10), as_hashed("ab    ", 6), as_hashed(""))
    assert len(rows) == last
    assert rows.pop(1) == (None,) * 5
    assert rows.pop(2) == (as_hashed(PLACEHOLDER), *others)
    assert rows == {key: (as_hashed(f"ä@b{key}"), *others) for key in rows}
    plan: Any = batch.lines()._jdf
    for shown in (postgres_log.read_text(), plan.queryExecution().toString()):
        assert "current_setting('cdc_lake.salt')" in shown
        # SQL doubles the quote before it.
        assert SALT[-7:] not in shown + repr(batch)


UNHASHED: Sequence[tuple[dict[str, Any], str]] = (
    ({"hashed": ("large",)}, f"say {keys.FIRST_LOAD_SALT_FILE} or {keys.FIRST_LOAD_SALT_SECRET}"),
    ({"hashed": ("large",), "salt_secret": "erp"}, "the salt must be 16 ASCII characters or more, .*: erp"),
    ({"hashed": ("large",), "salt_file": "short"}, ": short"),
    ({"hashed": ("large",), "salt_file": "two words"}, ": two words"),
    ({"hashed": ("v",), "salt_file": "salt"}, r"public\.w has no text v"),
    ({"hashed": ("gone",), "salt_file": "salt"}, r"public\.w has no text gone"),
)


def test_what_cannot_be_hashed_is_refused_in_one_line(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashing, "of_secret", {"erp": {"another": SALT}}.__getitem__)
    texts = {"salt": SALT, "short": "0123456789", "two words": "0123456789 abcdef"}
    settings, relation = loaded.settings().first_load, Mock(settings=Mock(), columns=COLUMNS)
    relation.settings.name = "public.w"
    assert settings is not None
    for given, said in UNHASHED:
        with pytest.raises(SettingsError, match=said):
            hashing.hashing(replace(settings, **given), texts.__getitem__).hashed(relation)


# Column, type, Avro type, the values in SQL, and the fifth as it is sent.
KEY: Sequence[tuple[str, str, Any, str, Any]] = (
    ("number", "int", "int", "i", 5),
    ("empty", "text", "string", "CASE WHEN i <> 5 THEN 'k' || i ELSE '' END", ""),
    (
        "instant",
        "timestamptz",
        {"type": "string", "connect.name": "io.debezium.time.ZonedTimestamp"},
        "timestamptz '2026-01-01 00:00:00.000005Z' + (i - 5) * interval '1 us'",
        "2026-01-01T00:00:00.000005Z",
    ),
    ("raw", "bytea", "bytes", "decode(lpad(i::text, 8, '0'), 'hex')", "AAAABQ=="),
)


@pytest.mark.usefixtures("parts")
def test_an_event_finds_its_row_whatever_the_key(loaded: Loaded) -> None:
    """Hudi's bulk insert writes some keys in another way than its upsert, and cuts an instant."""
    names = ", ".join(name for name, *_ in KEY)
    loaded.execute(
        f"TRUNCATE w; ALTER TABLE w {', '.join(f'ADD {name} {kind}' for name, kind, *_ in KEY)},"
        f" DROP CONSTRAINT w_pkey, ADD PRIMARY KEY (id, {names})",
        f"INSERT INTO w SELECT i, i, {written_log.LARGE}, {', '.join(sql for *_, sql, _ in KEY)}"
        " FROM generate_series(1, 1500) AS i",
    )
    loaded.fields, loaded.key = {**W, **{name: avro for name, _, avro, *_ in KEY}}, f"id, {names}".replace(" ", "")
    loaded.run()
    event = {"__deleted": "false", "__op": "u", "__lsn": 10**15, "__source_ts_ms": 1, "__source_txId": None}
    loaded.put([{"id": 5, "v": -1, "large": "new", **{name: sent for name, *_, sent in KEY}, **event}])
    [report] = loaded.run()
    rows = loaded.spark.read.format("hudi").load(str(loaded.table_path))
    assert (report.quarantined, rows.count(), rows.filter("v = -1").count()) == (0, 1500, 1)


PARTITIONED = """DROP TABLE w; CREATE TABLE w (id int PRIMARY KEY, v int, large text) PARTITION BY RANGE (id);
    CREATE TABLE w_1 PARTITION OF w FOR VALUES FROM (0) TO (700); CREATE TABLE w_2 PARTITION OF w DEFAULT;
    ALTER PUBLICATION w SET (publish_via_partition_root = true); ALTER PUBLICATION w ADD TABLE w;"""


@pytest.mark.usefixtures("parts")
def test_a_partition_that_comes_while_they_are_listed_is_read(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded.execute(PARTITIONED + MANY.format("w", 1, 1500), "ANALYZE w")
    holders, job = first_load.FirstLoad._holders, loaded.job()

    def listed(load: first_load.FirstLoad) -> Any:
        found = holders(load)
        new = "CREATE TABLE w_0 PARTITION OF w FOR VALUES FROM (-100) TO (0)"
        loaded.execute(new, "INSERT INTO w VALUES (-1, 1, 'new')")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(first_load.FirstLoad, "_holders", listed)
        with pytest.raises(Py4JJavaError, match="was truncated or rewritten while it was read"):
            job.run_batch()
    [report] = loaded.run(job)
    assert report.files > 2
    assert in_the_lake(loaded) == written_log.rows(loaded.parameters)
