"""The many-table application that the benchmarks run, and its landed input."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.cases import SCHEMA, as_sent
from bench.job import CountedS3, RunningJob, running
from contract.events import DELETED, LSN, OPERATION, UPDATE
from contract.lake import DATABASE
from local.services.spark import MULTI_TABLE_JOB
from spark_jobs.options import submit
from spark_jobs.runtime.archive import ROOT

SAMPLE: dict[str, Any] = json.loads((ROOT / "tests" / "events" / "update.jsonl").read_text().splitlines()[0])
# Empties the sample's nested documents: an event of a table with plain columns.
SHORT = {"order_items": "[]", "products": "[]", "employee": "{}", "customer": "{}"}


def line(table: int, *, lsn: int, **fields: Any) -> str:
    """Return an event of table number `table`, with `fields` replacing the sample's."""
    own = {f"own_{column}": 1 for column in range(table)}
    return as_sent(SAMPLE | {LSN: lsn, OPERATION: UPDATE, DELETED: "false"} | own | fields)


def land(s3: CountedS3, table: int, lines: Sequence[str], *, offset: int) -> None:
    """Land an object of a table's events; the last has `offset`."""
    text = "".join(f"{one}\n" for one in lines)
    s3.client().put_object(Bucket="landing", Key=key(table, offset), Body=text.encode())


def key(table: int, offset: int) -> str:
    return f"cdc/{_topic(table)}/0/{offset:012d}_1_2.json"


def name(table: int) -> str:
    return f"t{table:03}"


def _topic(number: int) -> str:
    return f"shop.public.t{number:03}"


@contextmanager
def application(
    folder: Path,
    s3: CountedS3,
    tables: int,
    *,
    own: Mapping[str, str] | None = None,
    shared: Mapping[str, str] | None = None,
    sync_interval_s: int = 5,
    options: Sequence[str] = (),
) -> Iterator[RunningJob]:
    """Run it until the block ends, with properties of each table's `own`, `shared` ones and further `options`.

    Each table has the outbox's columns, and one more for each table before it.
    """
    files, record = {}, json.loads(SCHEMA)
    for number in range(tables):
        schema_file = folder / f"{name(number)}.avsc"
        schema_file.write_text(json.dumps(record))
        record["fields"].append({"name": f"own_{number}", "type": ["null", "int"], "default": None})
        job = submit.TableJob(
            landing=f"s3a://landing/cdc/{_topic(number)}",
            table_path=f"s3a://lake/{name(number)}",
            database=DATABASE,
            table=name(number),
            schema_file=str(schema_file),
            properties_file=str(ROOT / "spark_jobs" / "conf" / "cdc_events.properties"),
            sync_interval_seconds=sync_interval_s,
            configuration=own or {},
        )
        path = folder / f"{job.table}.properties"
        path.write_text(submit.table_properties(job))
        files[job.name] = str(path)
    listed = folder / "list.properties"
    listed.write_text(submit.list_properties(files, shared or {}))
    arguments = submit.multi_table_arguments(
        properties_file=str(listed), config_folder=str(folder), base_path_prefix="s3a://lake"
    )
    with running([*arguments, *options], folder=folder, s3=s3, program=MULTI_TABLE_JOB) as running_job:
        yield running_job
