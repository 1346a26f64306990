"""Comparisons of the outbox, of queried data, and of columns with another lake type."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pytest
from typer.testing import CliRunner

from cli.__main__ import app
from contract import column_types
from contract.column_types import canonical
from contract.column_types.catalogue import Carried
from local.comparison import describe, reconcile
from local.comparison.compare import TableComparison
from local.comparison.describe import _called_in_lake as called_in_lake
from local.comparison.describe import _canonical_json as canonical_json
from local.comparison.describe import _fitted as fitted
from local.comparison.reconcile import compare_outbox
from local.comparison.repair import repair_of_queried
from local.comparison.rows import ComparedColumn
from local.platform.platform import Platform
from local.services.postgres import ConnectionParameters, Postgres
from tests.conftest import execute
from tests.db.conftest import Shop, Template, shop_copy, template  # noqa: F401  (a fixture)
from tests.local.comparison.sides import ArrowLake, compare_entry, entry


@pytest.fixture
def shop(postgres: Postgres, template: Template) -> Iterator[Shop]:  # noqa: F811  (the fixture)
    with shop_copy(postgres, template("generated")) as copy:
        yield copy


def without_triggers(shop: Shop, *statements: str) -> None:
    for statement in ("SET session_replication_role = replica", *statements, "SET session_replication_role = origin"):
        shop.run(statement)


@pytest.mark.integration
def test_what_changed_with_triggers_off_is_found_by_order_and_column(shop: Shop) -> None:
    without_triggers(
        shop,
        "UPDATE shippers SET phone = 'stale' WHERE shipper_id = 1",
        "UPDATE orders SET freight = 4711, order_date = 'infinity' WHERE order_id = 10248",
        "DELETE FROM order_details WHERE order_id = 10250",
        "DELETE FROM orders WHERE order_id = 10250",
        "DELETE FROM cdc_events WHERE order_id = 10252",
    )
    found = compare_outbox(shop.parameters, timeout_s=0)
    assert not found.equal
    shown = {(one.kind, one.key["order_id"]): one.columns for one in found.shown}
    assert {key for kind, key in shown if kind == "missing"} == {"10252"}
    assert {key for kind, key in shown if kind == "extra"} == {"10250"}
    shipped = {str(key) for key in shop.values("SELECT order_id FROM orders WHERE ship_via = 1")} - {"10252"}
    assert (found.missing, found.extra, found.different) == (1, 1, len(shipped | {"10248"}))
    assert set(shown["different", "10248"]) >= {"order_date", "shipment"}
    others = {key: columns for (kind, key), columns in shown.items() if kind == "different" and key != "10248"}
    assert others.keys() <= shipped
    assert all("shipper" in columns for columns in others.values())


@pytest.mark.integration
def test_what_arrives_while_it_looks_is_no_difference(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    without_triggers(shop, "UPDATE orders SET freight = 4711 WHERE order_id = 10248")
    rounds: list[TableComparison] = []
    look = reconcile._look

    def look_and_repair(parameters: Any, keys: list[int] | None) -> tuple[TableComparison, list[int]]:
        comparison, differing = look(parameters, keys)
        rounds.append(comparison)
        if len(rounds) == 1:
            shop.run("CALL usp_init_order_events()")
        return comparison, differing

    monkeypatch.setattr(reconcile, "_look", look_and_repair)
    found = compare_outbox(shop.parameters, timeout_s=20)
    assert [comparison.equal for comparison in rounds] == [False, True]
    assert (found.source_rows, found.lake_rows, found.position) == (829, 829, rounds[0].position)


@pytest.mark.integration
def test_the_command_shows_both_comparisons_and_fails_for_a_stale_outbox(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Platform, "source", shop.parameters)
    monkeypatch.setattr(reconcile, "_refuse_to_wait_in_vain", lambda _platform: None)
    monkeypatch.setattr(reconcile, "reconcile_platform", lambda *_args, **_options: True)
    run = CliRunner().invoke(app, ["reconcile", "--deep", "--timeout", "0"])
    assert run.exit_code == 0, run.output
    assert "tables and outbox  equal  829 rows" in run.output
    without_triggers(shop, "UPDATE orders SET freight = 4711 WHERE order_id = 10248")
    run = CliRunner().invoke(app, ["reconcile", "--deep", "--timeout", "0"])
    assert run.exit_code == 1
    assert "different: order_id = 10248 in shipment" in run.output
    assert "829 in the outbox" in run.output
    assert CliRunner().invoke(app, ["reconcile", "--timeout", "0"]).exit_code == 0


BOTH = pyarrow.table({"id": pyarrow.array([1, 2], pyarrow.int32()), "name": ["a", "b"]})


@pytest.fixture
def source(database: ConnectionParameters) -> ConnectionParameters:
    execute(
        database,
        "CREATE TABLE people (id int PRIMARY KEY, name text); INSERT INTO people VALUES (1, 'a'), (2, 'b');"
        " CREATE VIEW seen AS SELECT * FROM people; CREATE TABLE older () INHERITS (people)",
    )
    return database


QUERIED: list[dict[str, Any]] = [
    {"source": "public.people"},
    {"source": "public.seen"},
    {"name": "joined", "query": "SELECT p.id, p.name FROM public.people p -- all of them\n;"},
]


@pytest.mark.integration
@pytest.mark.parametrize("queried", QUERIED)
def test_tables_views_and_queries_are_compared(
    source: ConnectionParameters, tmp_path: Path, queried: dict[str, Any]
) -> None:
    assert compare_entry(source, entry(ArrowLake(now=[BOTH]), tmp_path, how="query", **queried)).equal
    # Rows of what inherits are a queried table's own.
    execute(source, "INSERT INTO older VALUES (3, 'c')")
    found = compare_entry(source, entry(ArrowLake(now=[BOTH.slice(1)]), tmp_path, how="query", **queried))
    assert (found.source_rows, found.missing, found.extra, found.different, found.problem) == (3, 2, 0, 0, None)


@dataclass(frozen=True, kw_only=True)
class Committing(ArrowLake):
    """A lake with a commit for each time that its job has read the table."""

    read_again: list[None] = field(default_factory=list)

    def last_commit(self) -> str | None:
        return str(len(self.read_again))


@pytest.mark.integration
def test_what_differs_is_repaired_by_a_job_that_reads_it_again(source: ConnectionParameters, tmp_path: Path) -> None:
    lake = Committing(now=[BOTH.slice(1)])

    def read_again() -> None:
        lake.read_again.append(None)
        lake.now[:] = [BOTH]

    said: list[str] = []
    wanted = entry(lake, tmp_path, how="query", source="public.people")
    found = compare_entry(source, wanted, repairs=lambda _wanted: repair_of_queried(read_again, said.append))
    assert (found.equal, found.repaired, len(lake.read_again)) == (True, 1, 1)
    assert said == ["public.people: 1 rows differ, so the job reads the whole table again"]


@pytest.mark.integration
def test_a_job_that_commits_nothing_is_a_line(source: ConnectionParameters, tmp_path: Path) -> None:
    wanted = entry(Committing(now=[BOTH.slice(1)]), tmp_path, how="query", source="public.people")
    repair = repair_of_queried(lambda: None, lambda _line: None, timeout_s=0.1)
    found = compare_entry(source, wanted, repairs=lambda _wanted: repair)
    assert "has committed nothing within 0 s" in str(found.problem)


INTEGER = Carried(wire="int", avro="int", lake="int", spelling=canonical.INTEGER)
DECIMAL = Carried(wire="text", avro="string", lake="decimal(10,2)", spelling=canonical.DECIMAL)
TEXT = Carried(wire="text", avro="string", lake="string", spelling=canonical.TEXT)


def column(kind: Carried, hash_digits: int = 0) -> ComparedColumn:
    return ComparedColumn(name="c", lake_name="c", spelled=kind, hash_digits=hash_digits)


@pytest.mark.parametrize(
    ("kind", "hash_digits", "stored", "compared"),
    [
        (INTEGER, 0, pyarrow.int32(), True),
        (INTEGER, 0, pyarrow.int64(), True),
        (INTEGER, 0, pyarrow.float64(), True),
        (INTEGER, 0, pyarrow.string(), False),
        (DECIMAL, 0, pyarrow.decimal128(12, 4), True),
        (DECIMAL, 0, pyarrow.string(), True),
        (DECIMAL, 0, pyarrow.float64(), False),
        (TEXT, 0, pyarrow.large_string(), True),
        (TEXT, 0, pyarrow.int32(), False),
        # A hash is text, whatever it is of.
        (INTEGER, 64, pyarrow.string(), True),
        (TEXT, 64, pyarrow.int32(), False),
    ],
)
def test_a_column_is_compared_where_its_values_can_be(
    kind: Carried, hash_digits: int, stored: pyarrow.DataType, compared: bool
) -> None:
    assert (fitted(column(kind, hash_digits), kind, stored) is not None) is compared


@pytest.mark.parametrize("value", [7.0, -3.0, 0.0, 9_007_199_254_740_991.0, 7.5])
def test_a_whole_number_that_the_lake_has_as_a_double_is_spelled_as_the_source_does(value: float) -> None:
    made = fitted(column(INTEGER), INTEGER, pyarrow.float64())
    assert made is not None
    with duckdb.connect() as connection:
        [(text,)] = connection.execute(f"SELECT {made.lake_sql} FROM (SELECT ?::DOUBLE AS c)", [value]).fetchall()
    assert text == made.spelled.lake_text(value) == (str(int(value)) if value != 7.5 else "7.5")
    as_text = fitted(column(DECIMAL), DECIMAL, pyarrow.string())
    assert as_text is not None
    assert as_text.spelled.lake_text("5.50") == "5.50"


def test_a_column_that_came_with_events_has_the_lakes_name_or_an_older_ones() -> None:
    assert called_in_lake("Mixed Case", {"mixed_case"}) == "mixed_case"
    assert called_in_lake("orderId", {"orderId"}) == "orderId"


def test_every_lake_type_that_a_column_can_have_is_known() -> None:
    modules = Path(column_types.__file__).parent.glob("*types.py")
    named = {name for path in modules for name in re.findall(r'lake=f?"([a-z]+)', path.read_text(encoding="utf-8"))}
    assert {"string", "decimal", "binary"} <= named
    assert named <= set(describe._STORED)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("12", '"12"'),
        ("12", '{"number": "12"}'),
        ('{"p": 12}', '{"p": {"number": "12"}}'),
        ('{"a": 1, "a": 2}', '{"a": 2}'),
        ("[123456789012345678901234567890123456789]", "[123456789012345678901234567890123456788]"),
        ("[1e1000000000]", "[1e1000000001]"),
        ("[0]", "[1]"),
        ("[1]", "[-1]"),
        ('"__debezium_unavailable_value"', "__debezium_unavailable_value"),
        ("[" * 5000 + "]" * 5000, "[" * 4999 + "]" * 4999),
    ],
)
def test_documents_that_differ_are_told_apart_whatever_is_in_them(one: str, other: str) -> None:
    assert canonical_json(one) != canonical_json(other)
    assert canonical_json(one) == canonical_json(one)


def test_a_number_has_one_form() -> None:
    forms = {canonical_json(text) for text in ("120", "120.0", "1.2e2", "1200E-1")}
    assert len(forms) == 1
    assert len({canonical_json(text) for text in ("0", "-0", "0.00", "0e5")}) == 1
