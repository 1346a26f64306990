"""An event that the connector fails on stops only its table, which is quarantined until a user has it re-read.

A separate database, through a user's commands. The tests share one platform and run in order.
"""

import time

import pytest

from contract.errors import CANNOT
from contract.sizes import LARGEST_EVENT_BYTES, MIB
from db.source.replication import drop_slot
from local.platform.connectors import ASIDE, SetAside
from local.platform.platform import Platform
from local.platform.startup import SUPERVISOR
from local.services.postgres import ConnectionParameters
from tests.conftest import execute
from tests.e2e.commands import Commands, equal_tables
from tests.waiting import crowd, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

NAME = "failing"
MAKING = """
CREATE TABLE fine (id int PRIMARY KEY, n int);
CREATE TABLE leaving (id int PRIMARY KEY, n int);
CREATE TABLE large (id int PRIMARY KEY, body text);
CREATE TABLE odd (id int PRIMARY KEY, lasts interval);
CREATE TABLE emptied (id int PRIMARY KEY, n int);
CREATE TABLE early (id int PRIMARY KEY, lasts interval);
INSERT INTO fine VALUES (1, 1);
INSERT INTO leaving VALUES (1, 1);
INSERT INTO large VALUES (1, 'x'), (3, 'x');
INSERT INTO odd VALUES (1, '1 day');
INSERT INTO emptied VALUES (1, 1), (2, 2);
INSERT INTO early VALUES (1, '2147483648 hours');
CREATE TYPE mood AS ENUM ('glad', 'lost');
CREATE TABLE ruined (id int PRIMARY KEY, mood mood);
INSERT INTO ruined VALUES (1, 'lost');
DELETE FROM pg_enum WHERE enumlabel = 'lost';
"""
FAILING = (
    f"INSERT INTO large VALUES (2, repeat('x', {LARGEST_EVENT_BYTES + 2 * MIB}))",
    "INSERT INTO odd VALUES (2, '2147483648 hours')",
    "TRUNCATE emptied",
    "INSERT INTO fine VALUES (2, 2)",
)
REASONS = (
    "table public.large is set aside: an event of public.large has ",
    "make that row smaller, then run `./lake resnapshot -p failing -t public.large`; found in body: 1 row, such"
    " as key '2'",
    "table public.ruined is set aside: public.ruined can't be captured (ERROR: invalid internal value for enum: ",
    "; see to that, then run `./lake resnapshot -p failing -t public.ruined`",
    "table public.emptied is set aside: public.emptied was emptied by TRUNCATE, and its pipeline says to stop there;"
    " run `./lake resnapshot -p failing -t public.emptied`, by which its rows go from the lake, too",
)
ODD = (
    "a value of type interval of public.{table} can't be converted: change it, or leave the column out"
    " (`leave_out`), then run `./lake resnapshot -p failing -t public.{table}`; found in lasts: 1 row, such as"
    " key '{key}'"
)
TOLD_OF_ODD = ODD.replace(": change", "; change")
ALIKE = "columns of public.odd differ only by case (ID and another), at which Debezium stops for all tables: rename"


def test_a_failing_table_is_set_aside_and_the_others_flow(make: Commands, source: ConnectionParameters) -> None:
    make.pipeline()
    make.prepare()
    # The first load also fails at two tables.
    said = make.up(status=CANNOT)
    first, *tables = said[said.index("up: ") :].splitlines()
    assert first == "up: 2 of 7 tables are set aside; all else runs, `./lake status -p failing` says how it is"
    assert tables[0] == f"    table public.early is set aside: {TOLD_OF_ODD.format(table='early', key=1)}"
    assert tables[1].startswith(
        "    table public.ruined is set aside: public.ruined can't be captured (ERROR: invalid internal value for enum"
    )
    assert SUPERVISOR in Platform(make.platform).running()
    for statement in FAILING:
        execute(source, statement)
    # Each start of the connector meets the next one.
    aside = SetAside(make.platform / "connect" / ASIDE)
    wait_until(lambda: len(aside.read()) == 5, every_s=0.2)
    said = make.status(status=1)
    odd = {"odd": 2, "early": 1}
    lines = (f"table public.{each} is set aside: {TOLD_OF_ODD.format(table=each, key=odd[each])}" for each in odd)
    parts = (*REASONS, *lines)
    assert [part for part in parts if part not in said] == [], said
    assert "connector failing-source" not in said
    said = make.reconcile("--timeout", "300", status=1)
    assert equal_tables(said) == {"public.fine": 2, "public.leaving": 1}
    assert f"public.odd  not compared: it is set aside: {ODD.format(table='odd', key=2)}" in said


def test_a_table_comes_back_once_its_rows_allow_it(make: Commands, source: ConnectionParameters) -> None:
    said = make.resnapshot("--table", "public.large", status=CANNOT)
    assert "set aside again: public.large: an event of public.large has " in said
    execute(source, "UPDATE large SET body = 'small' WHERE id = 2")
    execute(source, "DELETE FROM large WHERE id = 3")
    execute(source, "UPDATE odd SET lasts = '2 days' WHERE id = 2; DELETE FROM early; UPDATE ruined SET mood = 'glad'")
    back = {"public.odd": 2, "public.large": 2, "public.emptied": 0, "public.early": 0, "public.ruined": 1}
    said = make.resnapshot(*(word for table in back for word in ("--table", table)))
    assert equal_tables(said) == back
    execute(source, "INSERT INTO large VALUES (4, 'x')")
    assert equal_tables(make.reconcile("--timeout", "300")) == dict.fromkeys(("public.odd", "public.fine"), 2) | {
        "public.large": 3,
        "public.leaving": 1,
        "public.emptied": 0,
        "public.early": 0,
        "public.ruined": 1,
    }
    make.wait_until_status_is_well()


@pytest.mark.long
def test_a_leaving_table_doesnt_hide_that_the_slot_is_gone(make: Commands, source: ConnectionParameters) -> None:
    # A retrying connector takes the slot as soon as it may.
    wait_until(lambda: drop_slot(source, "cdc_failing"))
    make.take_out("public.leaving")
    make.prepare()
    started = time.monotonic()
    said = make.up(status=CANNOT)
    assert time.monotonic() - started < 60 * crowd()
    assert said.splitlines()[-1].startswith("up: the replication slot cdc_failing of ")
    assert "connector" not in said.splitlines()[-1]
    assert SUPERVISOR in Platform(make.platform).running()
    assert equal_tables(make.resnapshot()).keys() == {
        f"public.{table}" for table in ("odd", "fine", "large", "emptied", "early", "ruined")
    }


@pytest.mark.long
def test_columns_that_differ_only_by_case_stop_all_tables(make: Commands, source: ConnectionParameters) -> None:
    execute(source, 'ALTER TABLE odd ADD COLUMN "ID" int; INSERT INTO odd VALUES (3, NULL, 3)')
    make.wait_until_status_says(ALIKE)
    execute(source, "INSERT INTO fine VALUES (4, 4)")
    execute(source, 'ALTER TABLE odd DROP COLUMN "ID"')
    assert {"public.odd": 3, "public.fine": 3}.items() <= equal_tables(make.resnapshot("--skip")).items()
