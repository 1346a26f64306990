"""A database from outside the project: captured with three commands, and kept equal during writes.

Pagila, all its tables, from its dump. The tests share one platform with the database, and run in order.
"""

import json
import re
from collections.abc import Iterator

import pytest

from local.services.postgres import ConnectionParameters, Postgres
from tests.capture.conftest import PAGILA, WITHOUT_PAGILA, load_dump
from tests.conftest import ask, execute, fresh_database
from tests.e2e.commands import ROOT, Commands, equal_tables
from tests.e2e.writers import Clerk
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e, WITHOUT_PAGILA, pytest.mark.timeout(900), pytest.mark.long]

NAME = "films"
TABLES = frozenset(
    f"public.{table}"
    for table in (
        *("actor", "address", "category", "city", "country", "customer", "film", "film_actor", "film_category"),
        *("inventory", "language", "payment", "rental", "staff", "store"),
    )
)
# Maximum delay of a difference, on a busy machine.
PATIENT = ("--timeout", "240")
# Some rows are always in transit: a change takes longer than this to reach the lake.
RATE = 0.5
PAGE = ROOT / "docs" / "your-database" / "repair.md"
REVIEWS = 300
MAKE_REVIEWS = (
    "CREATE TABLE review (review_id int PRIMARY KEY, film_id int NOT NULL REFERENCES film, stars numeric(2, 1));"
    f" INSERT INTO review SELECT n, n, n % 10 / 2.0 FROM generate_series(1, {REVIEWS}) AS n"
)
COPY_CUSTOMER = (
    "INSERT INTO customer SELECT {copy}, store_id, first_name, last_name, email, address_id, activebool, create_date,"
    " last_update, active FROM customer WHERE customer_id = 1"
)
# A published table's changes are sent by the publication at the time of the change: these never are, and all others
# are.
LOSE_CHANGES = (
    f"BEGIN; ALTER PUBLICATION cdc_{NAME} DROP TABLE customer;"
    " UPDATE customer SET first_name = 'Lost' WHERE customer_id IN (3, 4);"
    f" {COPY_CUSTOMER.format(copy=9_001)}; DELETE FROM customer WHERE customer_id = 9000;"
    f" ALTER PUBLICATION cdc_{NAME} ADD TABLE customer; COMMIT"
)


@pytest.fixture(scope="module")
def source(postgres: Postgres) -> Iterator[ConnectionParameters]:
    """An existing database, with a customer who has rented nothing."""
    with fresh_database(postgres) as database:
        for part in ("schema", "data"):
            load_dump(postgres, database, PAGILA / f"pagila-{part}.sql")
        execute(database, COPY_CUSTOMER.format(copy=9_000))
        yield database


@pytest.fixture
def clerk(source: ConnectionParameters) -> Iterator[Clerk]:
    """A clerk who changes rows as long as the test runs."""
    with Clerk(source, rate=RATE, seed=1) as clerk:
        clerk.wait_for(clerk.made + 1)
        yield clerk


def test_three_commands_take_all_tables_to_an_equal_lake(make: Commands, source: ConnectionParameters) -> None:
    assert "15 tables to capture:" in make.pipeline()
    leave_out(make, "public.rental", "last_update")
    leave_out(make, "public.payment", "staff_id")
    said = make.prepare()
    assert "CREATE PUBLICATION cdc_films" in said
    assert "public.payment: PostgreSQL sends staff_id, and only the connector leaves it out: columns" in said
    assert unsent(source) == {"public.rental": "last_update"}
    make.up()
    equal = equal_tables(make.reconcile(*PATIENT))
    assert equal.keys() == TABLES
    assert (equal["public.payment"], equal["public.customer"]) == (16_049, 600)


def test_tables_are_read_again_whole_or_in_part_under_load(make: Commands, clerk: Clerk) -> None:
    before = clerk.made
    said = make.resnapshot("--table", "public.rental")
    assert equal_tables(said).keys() == {"public.rental"}
    assert shown("./lake resnapshot -p films -t public.rental") <= lines(said)
    where = "payment_date >= '2022-07-01Z'"
    said = make.resnapshot("--table", "public.payment", "--where", where)
    assert equal_tables(said).keys() == {"public.payment"}
    assert shown(f'./lake resnapshot -p films -t public.payment --where "{where}"') <= lines(said)
    assert clerk.made > before


def test_exactly_the_lost_changes_are_repaired_under_load(
    make: Commands, source: ConnectionParameters, clerk: Clerk
) -> None:
    execute(source, LOSE_CHANGES)
    clerk.wait_for(clerk.made + 1)
    found = make.reconcile("--table", "public.customer", *PATIENT, status=1)
    assert "public.customer  differs  1 missing, 1 extra, 2 different" in found
    assert shown("./lake reconcile -p films -t public.customer") <= lines(found)
    said = make.reconcile("--repair", *PATIENT)
    assert "public.customer: 3 rows read again, 1 that only the lake had deleted" in said
    assert shown("./lake reconcile -p films --repair") <= lines(said)
    assert equal_tables(said).keys() == TABLES


def test_a_table_comes_and_another_one_goes_under_load(
    make: Commands, source: ConnectionParameters, clerk: Clerk
) -> None:
    execute(source, MAKE_REVIEWS)
    execute(source, "ALTER TABLE rental ADD COLUMN noted text DEFAULT 'by hand'")
    said = make.pipeline("--update")
    assert "public.review is added to pipelines/films.toml" in said
    assert said.count("Not captured:") == 1
    make.take_out("public.store")
    leave_out(make, "public.review", "stars")
    assert "public.rental: the publication lacks noted" in make.status(status=1)
    make.replace('truncate = "stop"', 'truncate = "apply"')
    ignored = 'source = "public.film_category"\n'
    make.replace(ignored, f'{ignored}truncate = "ignore"\n')
    assert "public.review" in make.prepare()
    note = make.up()
    assert "added and read: public.review" in note
    assert "no longer captured, topic and lake table stay: public.store" in note
    execute(source, "UPDATE review SET stars = 5 WHERE review_id <= 3; DELETE FROM review WHERE review_id = 4")
    clerk.wait_for(clerk.made + 1)
    make.resnapshot("--table", "public.rental")
    equal = equal_tables(make.reconcile(*PATIENT))
    assert equal.keys() == TABLES - {"public.store"} | {"public.review"}
    assert equal["public.review"] == REVIEWS - 1
    assert unsent(source) == {"public.review": "stars"}


def test_a_truncate_empties_the_lakes_tables_or_is_told_of(make: Commands, source: ConnectionParameters) -> None:
    # A partitioned table by its root, one with everything that refers to it, and one whose rows stay.
    execute(source, "TRUNCATE payment; TRUNCATE actor CASCADE; TRUNCATE film_category")
    execute(source, "INSERT INTO actor (first_name, last_name) VALUES ('NEW', 'ONE')")
    for table, rows in {"public.payment": 0, "public.actor": 1, "public.film_actor": 0}.items():
        assert equal_tables(make.reconcile("--table", table, *PATIENT)) == {table: rows}
    make.wait_until_status_says("public.film_category was emptied by TRUNCATE")
    assert equal_tables(make.resnapshot("--table", "public.film_category")) == {"public.film_category": 0}
    # The event that reports it is written once the table is equal: status may still report it, and end with 1.
    wait_until(lambda: "emptied by TRUNCATE" not in make.status(status=None), every_s=2)


def leave_out(make: Commands, table: str, column: str) -> None:
    entry = f'source = "{table}"\n'
    make.replace(entry, f'{entry}leave_out = ["{column}"]\n')
    file = make.schema(table.rpartition(".")[2])
    schema = json.loads(file.read_text(encoding="utf-8"))
    schema["fields"] = [field for field in schema["fields"] if field["name"] != column]
    file.write_text(json.dumps(schema), encoding="utf-8")


def unsent(database: ConnectionParameters) -> dict[str, str]:
    """The columns of each table that the connector never receives."""
    left_out = (
        "SELECT json_object_agg(p.schemaname || '.' || p.tablename, a.attname) FROM pg_publication_tables p"
        " JOIN pg_attribute a ON a.attrelid = format('%I.%I', p.schemaname, p.tablename)::regclass AND a.attnum > 0"
        " AND NOT a.attisdropped AND a.attgenerated = '' AND a.attname <> ALL (p.attnames)"
        f" WHERE p.pubname = 'cdc_{NAME}'"
    )
    return dict(ask(database, left_out))


def shown(command: str) -> set[str]:
    """The lines of a command's output on the page."""
    _, _, below = PAGE.read_text(encoding="utf-8").partition(f"$ {command}\n")
    assert below, f"{PAGE.name} doesn't show {command}"
    return lines(re.split(r"^(?:\$|```)", below, maxsplit=1, flags=re.MULTILINE)[0]) - {"…"}


def lines(said: str) -> set[str]:
    """The output, without seconds and the row counts of growing tables."""
    return {re.sub(r"(?:[\d.]+|…) s\b|[\d,]+ rows  ", "#", line) for line in said.splitlines()}
