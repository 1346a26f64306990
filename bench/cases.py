"""The tables that bench.against_others has written: what they are like, and what each program is told of them."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import order_events
from bench.order_events import Columns
from contract import lake, source
from contract.events import DELETE, OPERATION
from spark_jobs.decoding import schema
from spark_jobs.decoding.schema import IS_DELETED, Encoding
from spark_jobs.options import command_line, keys, properties, settings, submit
from spark_jobs.options.table_settings import TableSettings
from spark_jobs.runtime.archive import ROOT

SCHEMA = (ROOT / "pipelines" / "orders" / "cdc_events.avsc").read_text(encoding="utf-8")
PLAIN = ROOT / "bench" / "plain.py"
_PARTITIONED = {keys.PARTITION_PATH: "customer_id", "hoodie.datasource.hive_sync.partition_fields": "customer_id"}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A table, and how many events and changes are written to it."""

    events: int = 100_000
    changes: int = 1000
    table_type: str = "COPY_ON_WRITE"
    layout: str = "cdc_events.properties"
    configuration: Mapping[str, str] = field(default_factory=dict)
    schema: str = SCHEMA
    columns: Columns = order_events.outbox

    @property
    def completed(self) -> str:
        """What the name of a finished commit ends with."""
        return ".deltacommit" if self.table_type == "MERGE_ON_READ" else ".commit"

    def first(self, count: int) -> Iterator[str]:
        return order_events.first(count, self.columns)

    def later(self, count: int, after: int) -> Iterator[str]:
        return order_events.later(count, after, self.columns)


CASES = {
    "copy-on-write": Case(),
    "merge-on-read": Case(table_type="MERGE_ON_READ"),
    "30-columns": Case(
        events=1_000_000,
        changes=100_000,
        schema=order_events.wide_schema(SCHEMA),
        columns=order_events.wide,
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
    """Return what bench/plain.py is told of landed events."""
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
    """Return what bench/plain.py is told of writing the job's table."""
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
