"""The tables that bench.against_others has written: their events, and each program's settings for them.

Events are as Debezium's connector sends them: of the orders' outbox, and of a table with 30 columns of plain types.
"""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contract import events, lake, source
from contract.events import CREATE, DELETE, DELETED, LSN, OPERATION, SOURCE_TIME_MS, UPDATE
from spark_jobs.decoding import schema
from spark_jobs.decoding.schema import IS_DELETED, Encoding
from spark_jobs.options import command_line, keys, properties, settings, submit
from spark_jobs.options.table_settings import TableSettings
from spark_jobs.runtime.archive import ROOT

SCHEMA = (ROOT / "pipelines" / "orders" / "cdc_events.avsc").read_text(encoding="utf-8")
PLAIN = ROOT / "bench" / "plain.py"
_PARTITIONED = {keys.PARTITION_PATH: "customer_id", "hoodie.datasource.hive_sync.partition_fields": "customer_id"}


# A row's columns, given its key, its customer's number and what changes with each event.
Columns = Callable[[int, int], dict[str, Any]]
KEY, CUSTOMERS = "order_id", 100


def _line(order: int, lsn: int, operation: str, columns: Columns) -> str:
    event = {
        KEY: order,
        **columns(order, lsn),
        "updated_at": _time(lsn),
        DELETED: str(operation == DELETE).lower(),
        OPERATION: operation,
        events.DATABASE: source.DATABASE,
        events.TABLE: source.OUTBOX_TABLE,
        events.SCHEMA: source.SCHEMA,
        LSN: 1000 + lsn,
        SOURCE_TIME_MS: 1_795_216_992_726 + lsn,
    }
    return as_sent(event)


def as_sent(event: Mapping[str, Any]) -> str:
    """Return an event's text as Debezium writes it: the job needs longer for any other form."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


def _time(number: int) -> str:
    return f"2026-11-20T23:{number % 60:02}:11.{number % 1_000_000:06}Z"


def outbox(order: int, lsn: int) -> dict[str, Any]:
    """Return an order's columns; it stays with its customer."""
    products = [(order + place) % 77 + 1 for place in range(1 + order % 3)]
    name = f"C{order % CUSTOMERS}"
    customer = {"customer_id": name, "company_name": "Müller & Söhne", "city": "Köln", "phone": "0221-9629"}
    return {
        "customer_id": name,
        "order_date": 20_000 + order % 700,
        "required_date": 20_030 + order % 700,
        "shipped_date": None if order % 5 == 0 else 20_010 + order % 700,
        "order_items": _document([{"product_id": one, "quantity": lsn % 50, "unit_price": 14.5} for one in products]),
        "products": _document([{"product_id": one, "product_name": f"Product {one}"} for one in products]),
        "customer": _document(customer),
        "employee": _document({"employee_id": order % 9, "last_name": "Buchanan", "title": "Sales Manager"}),
        "shipper": _document({"shipper_id": order % 3, "company_name": "Speedy Express"}),
        "shipment": _document({"freight": order % 9000 / 100, "ship_city": "Reims", "ship_country": "France"}),
    }


def _document(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _typed(type_: str, meaning: str) -> dict[str, str]:
    return {"type": type_, "connect.name": f"io.debezium.time.{meaning}"}


# With the key and the time of the last change a row has 30.
_KINDS: tuple[tuple[Any, Callable[[int], Any]], ...] = (
    ("int", lambda number: number % 1_000_003),
    ("long", lambda number: number * 7919),
    ("double", lambda number: number % 9973 / 8),
    ("boolean", lambda number: number % 3 == 0),
    ("string", lambda number: f"text {number % 9973} é"),
    (_typed("int", "Date"), lambda number: number % 30_000),
    (_typed("string", "ZonedTimestamp"), _time),
)
_WIDE = {f"c{place:02}": _KINDS[place % len(_KINDS)] for place in range(28)}


def wide(order: int, lsn: int) -> dict[str, Any]:
    """Return 28 columns; an eleventh of them is null, and a quarter changes with each event."""
    numbers = [order + place * 31 + (lsn if place % 4 == 0 else 0) for place in range(len(_WIDE))]
    return {
        name: value(number) if number % 11 else None
        for (name, (_, value)), number in zip(_WIDE.items(), numbers, strict=True)
    }


def wide_schema(outbox_schema: str) -> str:
    """Return the Avro schema of events with `wide` columns: the outbox's but for these."""
    record: Mapping[str, Any] = json.loads(outbox_schema)
    added = [{"name": name, "type": ["null", kind], "default": None} for name, (kind, _) in _WIDE.items()]
    kept = [field for field in record["fields"] if field["name"] in (KEY, "updated_at") or field["name"][:2] == "__"]
    return json.dumps({**record, "fields": [kept[0], *added, *kept[1:]]})


@dataclass(frozen=True, kw_only=True)
class Case:
    """A table, and how many events and changes are written to it."""

    events: int = 100_000
    changes: int = 1000
    table_type: str = "COPY_ON_WRITE"
    layout: str = "cdc_events.properties"
    configuration: Mapping[str, str] = field(default_factory=dict)
    schema: str = SCHEMA
    columns: Columns = outbox

    @property
    def completed(self) -> str:
        """What the name of a finished commit ends with."""
        return ".deltacommit" if self.table_type == "MERGE_ON_READ" else ".commit"

    def first(self, count: int) -> Iterator[str]:
        """Write events of orders, most of them new."""
        orders = max(count * 4 // 5, 1)
        return (_line(at % orders, at, CREATE if at < orders else UPDATE, self.columns) for at in range(count))

    def later(self, count: int, after: int) -> Iterator[str]:
        """Write changes of these orders, a tenth of them deletes."""
        orders, columns = max(after * 4 // 5, 1), self.columns
        return (_line(at * 37 % orders, after + at, DELETE if at % 10 == 0 else UPDATE, columns) for at in range(count))


CASES = {
    "copy-on-write": Case(),
    "merge-on-read": Case(table_type="MERGE_ON_READ"),
    "30-columns": Case(
        events=1_000_000,
        changes=100_000,
        schema=wide_schema(SCHEMA),
        columns=wide,
    ),
    # An order's customer never changes.
    "100-partitions": Case(layout="cdc_events_partitioned.properties", configuration=_PARTITIONED),
}


def parts(lines: Iterator[str], size: int) -> Iterator[list[str]]:
    """Cut into lists of `size` lines, the last may be shorter."""
    return iter(lambda: list(itertools.islice(lines, size)), [])


def arguments(case: Case, landing: str, table: str, schema_file: Path) -> list[str]:
    """Return the job's arguments."""
    job = submit.TableJob(
        landing=landing,
        table_path=table,
        database=lake.DATABASE,
        table=source.OUTBOX_TABLE,
        schema_file=str(schema_file),
        properties_file=str(ROOT / "spark_jobs" / "conf" / case.layout),
        table_type=case.table_type,
        configuration=case.configuration,
        # As HoodieStreamer: no pause after a commit.
        sync_interval_seconds=0,
    )
    return run_once(job)


def run_once(job: submit.TableJob) -> list[str]:
    """Return the arguments of a job that ends when it has read what is there, and syncs no catalogue."""
    return [one for one in submit.job_arguments(job) if one not in ("--enable-sync", "--continuous")]


def decided(given: Sequence[str]) -> tuple[Mapping[str, str], TableSettings]:
    """Return the properties in the job's arguments, and what it decides about its table."""
    options = command_line.parse(given)
    pairs = properties.load(str(options.props), lambda path: Path(path).read_text(encoding="utf-8"))
    every = properties.combine(pairs, properties.parse_overrides(options.hoodie_conf))
    return every, settings.decide(options, every, lambda _line: None).table


def table_of(given: Sequence[str]) -> TableSettings:
    return decided(given)[1]


def plain(case: Case, table: TableSettings, landing: str) -> dict[str, Any]:
    """Return bench/plain.py's settings for reading landed events."""
    columns = schema.parse(case.schema, "its schema")
    upserting = {
        "hoodie.datasource.write.table.type": case.table_type,
        "hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
        "hoodie.combine.before.upsert": "false",
    }
    return {
        "schema": ", ".join(f"`{column.source}` {column.wire.simpleString()}" for column in columns),
        "columns": columns_of(case),
        "ordering": table.ordering_field,
        "landing": f"{landing}/*",
        **plain_writing(table, "upsert", upserting),
    }


def plain_writing(table: TableSettings, operation: str, more: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return bench/plain.py's settings for writing the job's table."""
    written = {
        "hoodie.table.name": table.name,
        "hoodie.datasource.write.operation": operation,
        "hoodie.datasource.write.precombine.field": table.ordering_field,
    }
    return {"options": {**table.write_options, **written, **(more or {})}, "table": table.base_path}


def columns_of(case: Case) -> list[str]:
    """Return the SQL of each column of the table."""
    convert = {Encoding.DAYS: "date_from_unix_date({})", Encoding.ISO_TIMESTAMP: "CAST({} AS timestamp)"}
    columns = schema.parse(case.schema, "its schema")
    stored = [f"{convert.get(each.encoding, '{}').format(each.name)} AS {each.name}" for each in columns]
    return [*stored, f"{OPERATION} = '{DELETE}' AS {IS_DELETED}"]
