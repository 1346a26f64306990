"""What a pipeline's table means to its job."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from settings.job import JobPace, JobPlaces, layout, table_job
from settings.load import load_pipeline
from settings.pipeline import Pipeline
from spark_jobs.options import keys, table_settings

CONF = Path(__file__).resolve().parents[2] / "spark_jobs" / "conf"
PLACES = JobPlaces(
    landing="s3a://landing/cdc-events",
    lake="s3a://lake",
    schemas="/repository/pipelines",
    shared_properties="/repository/spark_jobs/conf/lean.properties",
    database="datalake",
)
ASKED = {keys.JDBC_URL: "jdbc:postgresql://localhost:5432/shop", keys.JDBC_PASSWORD_FILE: "/secret"}
TABLE: dict[str, Any] = {"source": "public.Order Lines", "how": "log", "key": ["order_id", "line"]}


def pipeline(*tables: dict[str, Any]) -> Pipeline:
    return Pipeline.model_validate({"name": "shop", "source": {"database": "d"}, "tables": list(tables)})


def one(**changes: Any) -> Pipeline:
    return pipeline(TABLE | changes)


def layout_of(**changes: Any) -> dict[str, str]:
    return layout(one(**changes).tables[0])


def example(name: str) -> dict[str, str]:
    """An example file of the job's layout: the same, for running the job by hand."""
    lines = (CONF / name).read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith(("#", "include")))


def test_the_orders_have_the_layout_of_the_jobs_example() -> None:
    [orders] = load_pipeline("orders").tables
    assert layout(orders) == example("cdc_events.properties")


def test_folders_are_laid_out_as_in_the_jobs_example() -> None:
    changes = {"key": ["order_id"], "partition_by": ["customer_id", "order_id"]}
    assert layout_of(**changes) == example("cdc_events_partitioned.properties")


def test_columns_have_the_names_that_the_lake_gives_them() -> None:
    shop = one(key=["Order ID", "lineNo"], partition_by=["Sold On"], ordering="changedAt")
    found = layout(shop.tables[0])
    assert found[keys.RECORD_KEY] == "order_id,line_no"
    assert found[keys.PARTITION_PATH] == found[keys.SYNC_PARTITIONS] == "sold_on"
    assert table_job(shop, shop.tables[0], PLACES, JobPace()).ordering_field == "changed_at"


def test_versions_are_kept_for_the_hours_that_the_table_says() -> None:
    assert "hoodie.cleaner.policy" not in layout_of()
    found = layout_of(retention_hours=168)
    assert (found["hoodie.cleaner.policy"], found["hoodie.cleaner.hours.retained"]) == ("KEEP_LATEST_BY_HOURS", "168")
    table_settings.check_hudis(found, lambda line: pytest.fail(line))


@pytest.mark.parametrize(
    ("changes", "key", "value"),
    [
        ({}, "hoodie.streamer.schema.max.new.columns", None),
        ({"evolution": "fixed"}, "hoodie.streamer.schema.max.new.columns", "0"),
        ({"buckets": 16}, "hoodie.bucket.index.num.buckets", "16"),
        ({}, keys.RECORD_KEY, "order_id,line"),
        # One that is only appended to leaves its key to the job.
        ({"key": [], "append_only": True}, keys.RECORD_KEY, None),
        ({"key": [], "append_only": True}, keys.APPEND_ONLY, "true"),
    ],
)
def test_a_tables_entry_decides_its_layout(changes: dict[str, Any], key: str, value: str | None) -> None:
    assert layout_of(**changes).get(key) == value


LOADED = {keys.FIRST_LOAD_SLOT: "cdc_shop", keys.FIRST_LOAD_PUBLICATION: "cdc_shop"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {keys.NEW_COLUMN_TYPES: "source", keys.JDBC_TABLE: "public.Order Lines", **ASKED}),
        (
            {"schema": "a.b", "table": "c", "source": None},
            {keys.NEW_COLUMN_TYPES: "source", keys.JDBC_TABLE: '"a.b"."c"', **ASKED},
        ),
        ({"evolution": "guess"}, {}),
        ({"evolution": "guess", "first_load": "direct"}, {keys.JDBC_TABLE: "public.Order Lines", **LOADED, **ASKED}),
        (
            {"evolution": "guess", "first_load": "direct", "hash": ["note"]},
            {keys.JDBC_TABLE: "public.Order Lines", keys.FIRST_LOAD_HASHED: "note", **LOADED, **ASKED},
        ),
        ({"how": "outbox"}, {}),
    ],
    ids=["asked", "asked, with a dot in its name", "guessed", "first rows", "hashed first rows", "by releases"],
)
def test_the_types_of_a_logs_new_columns_are_the_sources_and_first_rows_may_be(
    changes: dict[str, Any], expected: dict[str, str]
) -> None:
    shop = pipeline({name: value for name, value in (TABLE | changes).items() if value is not None})
    found = table_job(shop, shop.tables[0], replace(PLACES, source=ASKED), JobPace()).configuration
    assert {key: value for key, value in found.items() if key not in layout(shop.tables[0])} == expected
    # A connector with another table to read has a snapshot of its own.
    more = shop.model_copy(update={"tables": (*shop.tables, one().tables[0])})
    waits = table_job(more, more.tables[0], PLACES, JobPace()).configuration.get(keys.FIRST_LOAD_AFTER)
    assert waits == ("true" if keys.FIRST_LOAD_SLOT in expected else None)
    awaited = table_job(shop, shop.tables[0], PLACES, JobPace()).configuration
    assert awaited.keys() - layout(shop.tables[0]).keys() == expected.keys() & {
        keys.NEW_COLUMN_TYPES,
        keys.FIRST_LOAD_HASHED,
        *LOADED,
    }


def test_the_orders_job_reads_and_writes_where_it_always_did() -> None:
    orders = load_pipeline("orders")
    job = table_job(orders, orders.tables[0], PLACES, JobPace(sync_interval_seconds=0, configuration={"a": "b"}))
    assert (job.landing, job.table_path) == ("s3a://landing/cdc-events", "s3a://lake/cdc_events")
    assert (job.database, job.table, job.table_type) == ("datalake", "cdc_events", "COPY_ON_WRITE")
    assert job.schema_file == "/repository/pipelines/orders/cdc_events.avsc"
    assert (job.sync_interval_seconds, job.configuration["a"]) == (0, "b")


def test_a_tables_own_entry_decides_its_type_order_and_names() -> None:
    shop = one(table_type="MERGE_ON_READ", ordering="version")
    job = table_job(shop, shop.tables[0], PLACES, JobPace())
    assert job.landing == "s3a://landing/cdc-events/shop.public.Order_Lines"
    assert (job.table, job.table_path) == ("shop_order_lines", "s3a://lake/shop_order_lines")
    assert (job.table_type, job.ordering_field) == ("MERGE_ON_READ", "version")
    assert job.schema_file == "/repository/pipelines/shop/order_lines.avsc"
