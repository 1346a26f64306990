"""Tables altered while they are captured and written to: the effect of each change, and the messages.

A separate database, through a user's commands. The tests share one platform and run in order.
"""

import json
import re
import time
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg2
import psycopg2.errors
import pytest

from local.look.json_lines import BUCKET, entries
from local.look.lake import Lake, local_s3_options
from local.platform.record import RecordFile
from local.services.aws import S3
from local.services.postgres import ConnectionParameters
from tests.conftest import execute
from tests.e2e.commands import Commands, equal_tables
from tests.e2e.writers import Business
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900), pytest.mark.long]

NAME = "altered"
# Partitions, and tables that become or have been partitions.
TABLES = ("--tables", "!parts_*")
PATIENT = ("--timeout", "240")
# The tables of the file at the end.
LEFT = ("bare", "busy", "items", "long", "parts", "reborn", "rekeyed", "renamed")
MAKING = Path(__file__).with_name("altered.sql").read_text(encoding="utf-8")
# Each column's changes are on separate rows. `qty` comes last: no event of `items` fits after it.
COLUMNS = """
ALTER TABLE items ADD COLUMN plain text, ADD COLUMN filled int DEFAULT 7, ADD COLUMN "Mixed Case" text,
    ADD COLUMN "order" text, ADD COLUMN born date, ADD COLUMN cost numeric(10, 2),
    ADD COLUMN doubled int GENERATED ALWAYS AS (id * 2) STORED;
INSERT INTO items (id, plain, "Mixed Case", "order", filled, born, cost)
    VALUES (101, 'p', 'm', 'o', 8, '2024-02-29', 1.5);
ALTER TABLE items DROP COLUMN gone;
UPDATE items SET note = 'after' WHERE id = 2;
ALTER TABLE items ALTER amount TYPE bigint;
UPDATE items SET amount = 3000000000 WHERE id = 3;
ALTER TABLE items ALTER code TYPE text;
UPDATE items SET code = repeat('c', 30) WHERE id = 4;
ALTER TABLE items ALTER price TYPE numeric(14, 2);
UPDATE items SET price = 123456789012.25 WHERE id = 5;
UPDATE items SET price = 55.5 WHERE id = 6;
ALTER TABLE items RENAME former TO latter;
UPDATE items SET latter = 'new' WHERE id = 9;
ALTER TABLE items ALTER qty TYPE text;
UPDATE items SET qty = 'seven' WHERE id = 7;
"""
OTHERS = """
ALTER TABLE busy REPLICA IDENTITY FULL;
DELETE FROM busy WHERE id = 2;
ALTER TABLE moved RENAME TO renamed;
INSERT INTO renamed VALUES (2, 'b');
DROP TABLE dropped;
DROP TABLE reborn;
CREATE TABLE reborn (id int PRIMARY KEY, note text);
INSERT INTO reborn VALUES (5, 'new');
ALTER TABLE parts ATTACH PARTITION parts_3 FOR VALUES FROM ('2022-01-01') TO ('2023-01-01');
ALTER TABLE parts DETACH PARTITION parts_2;
INSERT INTO parts VALUES (4, '2022-03-03', 4);
ALTER TABLE bare REPLICA IDENTITY DEFAULT;
INSERT INTO bare VALUES (2, 'b');
ALTER TABLE rekeyed DROP CONSTRAINT rekeyed_pkey, ADD PRIMARY KEY (other);
UPDATE rekeyed SET id = 22 WHERE id = 2;
DELETE FROM rekeyed WHERE id = 3;
UPDATE rekeyed SET note = 'last' WHERE id = 1;
UPDATE long SET id = 11, n = 100 WHERE id = 1;
UPDATE long SET n = 200 WHERE id = 2;
"""


class Counter(Business):
    """Changes a row until the context ends."""

    def _write(self) -> None:
        """Log in for each change: no open session holds up an ALTER TABLE."""
        while self._goes_on:
            execute(self.parameters, "UPDATE busy SET n = n + 1 WHERE id = 1")
            self.made += 1
            time.sleep(self._pause_s)


@pytest.fixture
def writer(source: ConnectionParameters) -> Iterator[Counter]:
    with Counter(source, rate=10, seed=1) as writer:
        yield writer


class Looking:
    """The lake of the platform that the commands have started."""

    def __init__(self, folder: Path) -> None:
        self.s3 = S3(folder / "s3", port=RecordFile(folder).ports()["s3"])

    def rows(self, table: str) -> dict[int, dict[str, Any]]:
        uri = f"s3://{BUCKET}/{NAME}_{table}"
        found = Lake(base_uri=uri, storage_options=local_s3_options(self.s3.endpoint)).rows().to_pylist()
        return {row["id"]: row for row in found}

    def reasons(self, table: str) -> list[str]:
        return sorted(one["reason"] for some in entries(self.s3.client(), f"{NAME}_{table}") for one in some)


def values(row: Mapping[str, Any], *names: str) -> list[Any]:
    return [row[name] for name in names]


def test_what_arrives_of_altered_tables_and_what_is_put_aside(
    make: Commands, source: ConnectionParameters, writer: Counter
) -> None:
    make.pipeline(*TABLES)
    make.prepare()
    make.up()
    before = writer.made
    execute(source, COLUMNS)
    execute(source, OTHERS)
    with pytest.raises(psycopg2.errors.ObjectNotInPrerequisiteState):
        execute(source, "UPDATE bare SET note = 'x' WHERE id = 2")
    lake = Looking(make.platform)
    wait_until(lambda: len(lake.reasons("items")) == 3 and lake.rows("long")[2]["n"] == 200)
    # Quarantine is written before the commit.
    wait_until(lambda: lake.rows("items")[9].get("latter") == "new")
    wait_until(lambda: lake.rows("rekeyed")[1]["note"] == "last" and {2, 4} <= set(lake.rows("parts")))
    items = lake.rows("items")
    assert values(items[101], "plain", "mixed_case", "order", "filled") == ["p", "m", "o", 8]
    assert values(items[101], "born", "cost") == [date(2024, 2, 29), Decimal("1.50")]
    assert values(items[10], "gone", "plain", "filled") == ["gone", None, None]
    assert values(items[2], "note", "gone", "filled") == ["after", None, 7]
    assert items[4]["code"] == "c" * 30
    assert str(items[6]["price"]) == "55.50"
    assert values(items[9], "former", "latter") == [None, "new"]
    assert "doubled" not in items[101]
    assert lake.reasons("items") == [
        "type: amount (not int)",
        "type: qty (not int)",
        "value: price (not a decimal number as text)",
    ]
    assert writer.made > before


def test_what_no_event_tells_is_told_by_status(make: Commands) -> None:
    said = make.status(status=1)
    assert re.search(r"table public\.items has rows from before column filled: \d+ have null there", said)
    assert "column plain" not in said
    assert "public.moved: no such table" in said
    assert "public.dropped: no such table" in said
    assert re.search(
        r"the publication cdc_altered of \S+ lacks public\.dropped and public\.moved and public\.reborn", said
    )
    assert "public.rekeyed: updates and deletes don't say id " in said
    assert "public.bare: without a replica identity PostgreSQL refuses its updates and deletes" in said


def test_whatever_differs_is_named_by_reconcile(make: Commands) -> None:
    said = make.reconcile("--timeout", "60", status=1)
    assert re.search(r"^public\.items  differs .*, qty can't be compared", said, re.MULTILINE)
    assert "qty is text at the source and int32 in the lake: not compared" in said
    assert "the lake has no column" not in said
    assert "1 by type: amount (not int), 1 by type: qty (not int), 1 by value: price" in said
    assert "doubled is generated: PostgreSQL doesn't send it" in said
    assert "public.moved  not compared: the source has no such table (any more)" in said
    assert "public.dropped  not compared: the source has no such table (any more)" in said
    assert "public.reborn  not compared: cdc_connector may not read id, note: GRANT SELECT on it" in said
    assert "public.parts  differs  1 missing, 1 extra" in said
    assert "public.rekeyed  differs  2 extra" in said
    assert {"public.bare"} <= equal_tables(said).keys()


def test_the_ways_out_lead_to_an_equal_lake(make: Commands, source: ConnectionParameters, writer: Counter) -> None:
    retype(make.schema("items"), amount="long", qty="string")
    make.take_out("public.moved", "public.dropped")
    # Rows without a key can't be re-read.
    execute(source, "ALTER TABLE bare ADD COLUMN nr bigserial PRIMARY KEY")
    entry = 'source = "public.bare"\nhow = "log"\n'
    # In a new lake table.
    make.replace(f"{entry}key = []\nappend_only = true\n", f'{entry}key = ["nr"]\nlake_table = "by_nr"\n')
    # No decimal of the lake can be widened, so the number is lost; this event also turns the column into text.
    execute(source, "UPDATE items SET price = 5.25 WHERE id = 5")
    said = make.pipeline(*TABLES, "--update")
    assert "public.renamed is added to pipelines/altered.toml" in said
    assert "public.items: doubled is now in leave_out" in said
    make.prepare()
    assert "added and read: public.renamed" in make.up()
    before = writer.made
    assert equal_tables(make.resnapshot("--table", "public.bare", *PATIENT)) == {"public.bare": 3}
    said = make.reconcile("--repair", *PATIENT)
    assert set(equal_tables(said)) == {f"public.{table}" for table in LEFT}, said
    assert writer.made > before

    def told() -> list[str]:
        return [problem["what"] for problem in json.loads(make.status("--json", status=None))["problems"]]

    # Nothing else is wrong; what was quarantined is told for ten minutes.
    wait_until(lambda: all(what.startswith("had events quarantined") for what in told()), every_s=2)


def test_a_table_of_any_name_is_repaired_with_the_others(make: Commands, source: ConnectionParameters) -> None:
    odd, name = '"Tabelle ""x"".y, (Ünï"', 'public.Tabelle "x".y, (Ünï'
    changes = (
        f"UPDATE {odd} SET note = 'lost' WHERE id = {{}}; DELETE FROM {odd} WHERE id = {{}};"
        f" INSERT INTO {odd} VALUES ({{}}, 'lost')"
    )
    for way, ids in (("resnapshot", (1, 2, 6)), ("reconcile --repair", (3, 4, 7))):
        execute(
            source,
            f"BEGIN; ALTER PUBLICATION cdc_altered DROP TABLE {odd}, renamed; {changes.format(*ids)};"
            f" UPDATE renamed SET note = '{way}'; ALTER PUBLICATION cdc_altered ADD TABLE {odd}, renamed; COMMIT",
        )
        said = make.resnapshot(*PATIENT) if way == "resnapshot" else make.reconcile("--repair", *PATIENT)
        assert f"asked for a snapshot of {name}, while the others wait" in said or way != "resnapshot"
        assert re.search(rf"^{re.escape(name)}  equal  5 rows", said, re.MULTILINE), said
        assert re.search(r"^public\.renamed  equal  2 rows", said, re.MULTILINE), said


def retype(schema_file: Path, **types: str) -> None:
    """Change column types in the file, as a user does."""
    schema = json.loads(schema_file.read_text(encoding="utf-8"))
    for field in schema["fields"]:
        if field["name"] in types:
            field["type"] = ["null", types[field["name"]]]
    schema_file.write_text(json.dumps(schema), encoding="utf-8")
