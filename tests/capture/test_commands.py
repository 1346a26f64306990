"""`./lake source describe` and `./lake source prepare` on real databases: their files, output and effects."""

import json
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from capture import commands
from cli.__main__ import app
from contract.errors import CANNOT
from db.connecting import LoginError, connect
from local.services.postgres import ConnectionParameters, Postgres
from settings.load import load_pipeline
from tests.capture.conftest import PAGILA, WITHOUT_PAGILA, load_dump
from tests.conftest import execute, fresh_database
from tests.db.conftest import NORTHWIND, WITHOUT_DUMP, role_of

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("no_role")]


class Folder:
    """A folder of pipelines, and the command line for it and a database."""

    def __init__(self, path: Path, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = path
        self.database = database
        monkeypatch.setattr(commands, "PIPELINES", path)

    def run(self, command: str, *options: str, name: str = "mine", dsn: str | None = None, **given: str) -> Result:
        """Lower-case names are options of the command, upper-case ones environment variables."""
        host, port, user = (self.database[key] for key in ("host", "port", "user"))
        dsn = dsn or f"postgresql://{user}@{host}:{port}/{self.database['dbname']}"
        words = [word for key, value in given.items() if key.islower() for word in (f"--{key}", value)]
        settings = {"PGPASSWORD": self.database["password"]} | {k: v for k, v in given.items() if k.isupper()}
        return CliRunner().invoke(app, ["source", command, name, "--dsn", dsn, *options, *words], env=settings)

    def text(self) -> str:
        return (self.path / "mine.toml").read_text(encoding="utf-8")

    def write(self, text: str) -> None:
        (self.path / "mine.toml").write_text(text, encoding="utf-8")

    def tables(self) -> dict[str, Any]:
        tables = tomllib.loads(self.text())["tables"]
        return {table.get("source") or f"{table['schema']}.{table['table']}": table for table in tables}

    def fields(self, lake_table: str) -> dict[str, Any]:
        schema = json.loads((self.path / "mine" / f"{lake_table}.avsc").read_text(encoding="utf-8"))
        return {field["name"]: field for field in schema["fields"]}


def folder_of(tmp_path: Path, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch) -> Folder:
    path = tmp_path / "pipelines"
    path.mkdir()
    monkeypatch.delenv("CDC_CONNECTOR_PASSWORD", raising=False)
    return Folder(path, database, monkeypatch)


@pytest.fixture
def mine(tmp_path: Path, nasty: ConnectionParameters, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """For tests that leave the database unchanged."""
    return folder_of(tmp_path, nasty, monkeypatch)


@pytest.fixture
def changed(
    tmp_path: Path, postgres: Postgres, nasty: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Folder]:
    """For tests that change the database."""
    with fresh_database(postgres, template=nasty["dbname"]) as database:
        yield folder_of(tmp_path, database, monkeypatch)


@pytest.fixture(scope="module")
def described(nasty: ConnectionParameters, tmp_path_factory: pytest.TempPathFactory) -> tuple[Folder, str]:
    """What `describe` wrote of the whole database, and printed; for tests that only read it."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        folder = folder_of(tmp_path_factory.mktemp("described"), nasty, monkeypatch)
        done = folder.run("describe")
    assert done.exit_code == 0, done.output
    return folder, done.stdout


def test_an_unknown_database_becomes_a_pipeline_that_passes_its_checks(described: tuple[Folder, str]) -> None:
    pipeline = load_pipeline("mine", described[0].path)
    keys = {table.name: table.key for table in pipeline.tables}
    assert keys["Sales Dept.Order Details"] == ("lineNo", "Order ID")
    assert keys["public.unique_key"] == ("code",)
    assert {name for name, key in keys.items() if not key} == {
        "archive.no_key_of_old",
        *(f"public.{name}" for name in ("cat", "no_key", "unique_deferred", "unique_nullable")),
    }
    assert keys.keys() == {
        *("Sales Dept.Order Details", "Sales Dept.order_details", "archive.a.b", "archive.no_key_of_old"),
        *(f"public.{name}" for name in ("cat", "dropped_column", "everything", "guarded", "measured", "no_key")),
        *(f"public.identity_{name}" for name in ("full", "index", "nothing")),
        *(f"public.unique_{name}" for name in ("deferred", "key", "nullable")),
    }


def test_what_would_be_lost_is_said(described: tuple[Folder, str]) -> None:
    said = " ".join(described[1].split())
    for fact in (
        "public.no_key → no_key, append-only no primary key and no unique index without NULLs",
        "price_with_tax is left out: generated",
        "public.logged, partitioned table: without a primary key, a partition that is added later",
        "2 partitions, captured as this one table",
        "inherits from public.animal",
        "row security is on",
        "REPLICA IDENTITY NOTHING: updates and deletes would be refused once published",
        "REPLICA IDENTITY FULL: whole old rows",
        "REPLICA IDENTITY is the index over code, so a delete wouldn't name id",
        "picture: of a large object its number alone arrives",
        "public.animal, table: other tables inherit from it",
        "public.cache, table: unlogged",
        "public.remote, foreign table: its rows are in another server",
        "public.counted, materialized view: PostgreSQL doesn't publish",
        "public.happy, view: a view has no changes of its own",
        "it has large objects",
        "Tables that may have such values: Sales Dept.Order Details, Sales Dept.order_details, public.everything,"
        " public.guarded, public.identity_nothing, public.unique_key",
        "public.nothing_in_it, table: it has no columns",
        "2 sequences",
        "another table is sales_dept_order_details in the lake, so this one is sales_dept_order_details_2",
        "id- is left out: in the lake it would be id, as Id is",
        "archive.cased, table: columns differ only by case (Id, ID), which Debezium can't take",
        "__op is left out: its name is one of those that capturing adds",
    ):
        assert fact in said, fact


def test_a_schema_has_the_lakes_names_and_the_events_beside_them(described: tuple[Folder, str]) -> None:
    fields = described[0].fields("sales_dept_order_details")
    assert list(fields)[:5] == ["order_id", "line_no", "select", "gro_u00df_e", "e_mail"]
    assert fields["order_id"] == {"name": "order_id", "source.name": "Order ID", "type": "int"}
    assert fields["select"]["type"] == ["null", "string"]
    assert list(fields)[-1] == "__source_ts_ms"


def test_personal_data_is_only_proposed_and_a_hash_that_would_be_cut_is_said(changed: Folder) -> None:
    columns = "id INT PRIMARY KEY, phone VARCHAR(12), email VARCHAR(64), fax INT, password_hash TEXT"
    execute(changed.database, f"CREATE TABLE calls ({columns})")
    changed.run("describe", tables="calls")
    assert '# hash = ["phone", "email"]' in changed.text()
    assert "cut to the column's length: phone\n" in changed.text()
    assert '# leave_out = ["fax", "password_hash"]' in changed.text()
    assert not {"hash", "leave_out"} & changed.tables()["public.calls"].keys()
    assert "password_hash" in changed.fields("calls")


def test_only_the_tables_that_are_meant_are_written(mine: Folder) -> None:
    chosen = {"tables": "identity_*,no_key*,!*_full", "schema": "public,Sales Dept"}
    assert mine.run("describe", **chosen).exit_code == 0
    assert set(mine.tables()) == {"public.identity_index", "public.identity_nothing", "public.no_key"}


def test_the_database_gets_what_was_said_and_then_has_it_all(changed: Folder) -> None:
    said = changed.run("describe").stdout
    script = changed.run("prepare", "--dry-run").stdout
    assert script in said
    done = changed.run("prepare", CDC_CONNECTOR_PASSWORD="Secret/1")
    assert done.exit_code == 0, done.output
    assert "Secret/1" not in done.output
    assert "SCRAM" not in done.output
    again = changed.run("prepare")
    assert "nothing was changed" in again.stdout
    assert changed.run("prepare", "--dry-run").stdout == "-- Nothing is to be done.\n"
    assert "The database has all that the pipeline needs." in changed.run("describe").stdout


def test_the_role_of_other_pipelines_keeps_its_password_unless_asked(changed: Folder) -> None:
    changed.run("describe", tables="everything")
    changed.run("describe", name="second", tables="guarded")
    assert changed.run("prepare", CDC_CONNECTOR_PASSWORD="Secret/1").exit_code == 0

    def prepared(*words: str) -> str:
        done = changed.run("prepare", *words, name="second", CDC_CONNECTOR_PASSWORD="Secret/2")
        assert done.exit_code == 0, done.output
        return done.stdout

    first = {**changed.database, "user": "cdc_connector", "password": "Secret/1"}
    assert "cdc_connector exists and keeps its password" in prepared()
    connect(first).close()
    prepared("--change-password")
    connect({**first, "password": "Secret/2"}).close()
    with pytest.raises(LoginError):
        connect(first)


def test_what_a_dry_run_prints_is_enough_for_psql(changed: Folder) -> None:
    changed.run("describe", tables="everything,guarded,no_key")
    execute(changed.database, changed.run("prepare", "--dry-run").stdout)
    assert changed.run("prepare", "--dry-run").stdout == "-- Nothing is to be done.\n"


def test_a_file_that_is_there_is_compared_and_an_update_adds_what_it_lacks_and_nothing_else(changed: Folder) -> None:
    changed.run("describe", tables="everything")
    edited = changed.text().replace('# hash = ["email"]', 'hash = ["email"]\nretention_hours = 24 #') + "# my own words"
    changed.write(edited)
    before = list(changed.fields("everything"))
    execute(changed.database, "ALTER TABLE everything ADD COLUMN added TEXT")
    said = changed.run("describe").stdout
    assert "public.no_key is not in pipelines/mine.toml" in said
    assert "pipelines/mine/everything.avsc lacks what the database has" in said
    assert (changed.text(), list(changed.fields("everything"))) == (edited, before)
    done = changed.run("describe", "--update", tables="everything,no_key,measured")
    assert done.exit_code == 0, done.output
    assert changed.text().startswith(edited + "\n")
    assert set(changed.tables()) == {"public.everything", "public.no_key", "public.measured"}
    fields = list(changed.fields("everything"))
    assert [name for name in fields if name != "added"] == before
    assert fields.index("added") < fields.index("__deleted")
    load_pipeline("mine", changed.path)


def test_columns_that_cannot_be_captured_are_left_out_by_an_update(changed: Folder) -> None:
    changed.run("describe", tables="everything,no_key")
    columns = ("twice INT GENERATED ALWAYS AS (1 + 1) STORED", "plain INT", "wh_at TEXT", '"wh-at" TEXT', "bits VARBIT")
    execute(changed.database, f"ALTER TABLE no_key {', '.join(f'ADD {column}' for column in columns)}")
    before = changed.text()
    said = changed.run("describe", tables="everything").stdout
    assert "public.no_key: twice should be in leave_out: generated" in said
    assert "--update adds it" in said
    assert changed.text() == before
    said = changed.run("describe", "--update", tables="everything").stdout
    assert "public.no_key: twice is now in leave_out: generated" in said
    assert "public.no_key: bits is now in leave_out: bit varying: Debezium drops its length" in said
    assert changed.tables()["public.no_key"]["leave_out"] == ["twice", "wh-at", "bits"]
    fields = changed.fields("no_key")
    assert (fields["wh_at"].get("source.name"), "plain" in fields, "twice" in fields) == (None, True, False)
    assert "as the database has it" in changed.run("describe", tables="everything").stdout


def test_a_file_that_isnt_written_as_ours_is_changed_by_its_user(changed: Folder) -> None:
    changed.run("describe", tables="no_key")
    execute(changed.database, "ALTER TABLE no_key ADD COLUMN twice INT GENERATED ALWAYS AS (1 + 1) STORED")
    edited = changed.text().replace("[[tables]]", '[["tables"]]')
    changed.write(edited)
    done = changed.run("describe", "--update", tables="no_key")
    assert done.exit_code == CANNOT
    assert "put twice into leave_out of public.no_key yourself" in done.stderr
    assert changed.text() == edited


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("ALTER note TYPE INT USING 1", 'says ["null", "string"] of note, the database ["null", "int"]'),
        ("ALTER note TYPE BIT VARYING USING B'1'", "has note, the database hasn't"),
        ("DROP note, ADD note TEXT GENERATED ALWAYS AS ('a') STORED, ADD plain INT", "has note, the database hasn't"),
    ],
)
def test_a_column_that_is_another_now_is_said_and_not_changed(changed: Folder, change: str, line: str) -> None:
    changed.run("describe", tables="identity_full")
    execute(changed.database, f"ALTER TABLE identity_full {change}")
    said = changed.run("describe", "--update", tables="identity_full").stdout
    assert f"identity_full.avsc {line}" in said
    fields = changed.fields("identity_full")
    assert fields["note"]["type"] == ["null", "string"]
    assert ("plain" in fields) == ("plain" in change)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"name": "My-Shop"}, "error: the name My-Shop: a small letter first"),
        ({"dsn": "postgresql://me:secret@127.0.0.1/x"}, "error: DSN has a password"),
        ({"tables": "nothing_like_it"}, "error: --tables: no table matches 'nothing_like_it'"),
        ({"tables": "happy"}, "error: test_"),
        ({"schema": "elsewhere"}, "error: --schema elsewhere: test_"),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(mine: Folder, given: dict[str, str], line: str) -> None:
    result = mine.run("describe", **given)
    assert result.exit_code == CANNOT
    assert result.stderr.startswith(line)
    assert result.stderr.count("\n") == 1
    assert "secret" not in result.output
    assert ("happy, view: a view has no changes" in result.stdout) == (given.get("tables") == "happy")
    assert list(mine.path.iterdir()) == []


def test_another_database_than_the_files_is_refused(mine: Folder) -> None:
    mine.run("describe", tables="everything")
    mine.write(mine.text().replace(mine.database["dbname"], "another"))
    for command in ("describe", "prepare"):
        result = mine.run(command)
        assert result.exit_code == CANNOT
        assert "pipelines/mine.toml is of the database another, DSN of test_" in result.stderr


def test_each_missing_right_is_a_line(mine: Folder) -> None:
    mine.run("describe", tables="everything")
    with role_of(mine.database, "weak_under_test") as weak:
        mine.database = weak
        first, *_, last = mine.run("prepare").stderr.splitlines()
    assert first.startswith("error: you may not make a role with REPLICATION")
    assert last == "error: nothing was changed"


def test_a_password_that_nobody_gave_is_a_line(mine: Folder) -> None:
    if os.environ.get("PGPASSFILE") or Path("~/.pgpass").expanduser().exists():
        pytest.skip("a password file of this machine would be used")
    missing = "there is no terminal to ask at: set {}\n"
    assert mine.run("describe", PGPASSWORD="").stderr.endswith(missing.format("PGPASSWORD or PGPASSFILE"))
    mine.run("describe", tables="everything")
    assert mine.run("prepare").stderr == f"error: {missing.format('CDC_CONNECTOR_PASSWORD')}"


@pytest.mark.parametrize(
    ("dump", "count", "table", "key"),
    [
        pytest.param(NORTHWIND, 14, "public.order_details", ["order_id", "product_id"], marks=WITHOUT_DUMP),
        pytest.param(
            *(PAGILA / "pagila-schema.sql", 15, "public.payment", ["payment_date", "payment_id"]), marks=WITHOUT_PAGILA
        ),
    ],
)
def test_a_known_databases_dump_is_a_pipeline_that_loses_nothing(
    tmp_path: Path,
    database: ConnectionParameters,
    postgres: Postgres,
    monkeypatch: pytest.MonkeyPatch,
    dump: Path,
    count: int,
    table: str,
    key: list[str],
) -> None:
    load_dump(postgres, database, dump)
    folder = Folder(tmp_path, database, monkeypatch)
    done = folder.run("describe")
    assert done.exit_code == 0, done.output
    tables = folder.tables()
    assert (len(tables), tables[table]["key"]) == (count, key)
    assert not any(entry.get("append_only") or entry.get("leave_out") for entry in tables.values())
    assert folder.run("prepare", CDC_CONNECTOR_PASSWORD="Secret/1").exit_code == 0


@pytest.mark.parametrize(
    ("command", "how", "after", "what"),
    [
        (("describe",), "log", "inspect", ""),
        (("describe",), "query", "inspect", ""),
        (("describe", "--update"), "log", "inspect", ""),
        (("prepare",), "log", "_check_database", ""),
        (("prepare",), "query", "_check_database", "cannot read the catalogue: "),
    ],
)
def test_a_connection_that_breaks_is_one_line_and_nothing_is_written(
    changed: Folder, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], how: str, after: str, what: str
) -> None:
    if command != ("describe",):
        changed.run("describe", how=how, tables="unique_key")
    before = {path: path.read_bytes() for path in changed.path.rglob("*") if path.is_file()}
    step = getattr(commands, after)

    def then_broken(*arguments: Any) -> Any:
        found = step(*arguments)
        execute(
            changed.database,
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'db.load'"
            " AND datname = current_database()",
        )
        return found

    monkeypatch.setattr(commands, after, then_broken)
    result = changed.run(*command, **({} if command[0] == "prepare" else {"how": how}))
    assert (result.exit_code, type(result.exception)) == (CANNOT, SystemExit)
    [line] = result.stderr.splitlines()
    assert re.match(f"error: {what}.*(the connection broke|terminating connection)", line)
    assert {path: path.read_bytes() for path in changed.path.rglob("*") if path.is_file()} == before
