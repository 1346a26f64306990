"""What a pipeline's table means to its job: with files, query-based, or derived."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contract.events import READ_MS
from contract.history import COMMIT, VERSION
from settings.job import JobPace, JobPlaces, derived_jobs, layout, table_job
from settings.load import SettingsFileError, load_pipeline
from settings.pipeline import Pipeline
from spark_jobs.options import keys, submit, table_settings
from tests.settings.pipelines import DERIVED, queried_shop, write_pipeline

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


QUERIED = replace(PLACES, source=ASKED)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of pipelines, one of them query-based."""
    return queried_shop(tmp_path).parent


def loaded(folder: Path, entries: str) -> Pipeline:
    write_pipeline(folder, "shop", ["items"])
    path = folder / "shop.toml"
    path.write_text(path.read_text() + entries)
    return load_pipeline("shop", folder)


def test_its_job_has_the_query_in_sparks_sql_and_where_its_tables_are(tmp_path: Path) -> None:
    shop = loaded(tmp_path, DERIVED + "every_seconds = 60\nbuckets = 4\nretention_hours = 24\n")
    job = derived_jobs(shop, PLACES, JobPace(configuration={"a": "b"}))[0]
    assert (job.name, job.table_path) == ("datalake.shop_names", "s3a://lake/shop_names")
    assert (job.ordering_field, job.sync_interval_seconds, job.schema_file) == (READ_MS, 60, None)
    given = job.configuration
    assert given[keys.SQL_QUERY] == "SELECT i.id, i.name FROM shop_items AS i"
    assert given[keys.SQL_TABLES] == "shop_items=s3a://lake/shop_items"
    assert given[keys.RECORD_KEY] == "id"
    assert given["hoodie.bucket.index.num.buckets"] == "4"
    assert given["hoodie.cleaner.hours.retained"] == "24"
    assert given["a"] == "b"
    # It is looked at as often as the platform wants.
    assert derived_jobs(shop, PLACES, JobPace(derived_seconds=2))[0].sync_interval_seconds == 2


def test_a_query_may_be_a_file_and_name_derived_tables_before_it(tmp_path: Path) -> None:
    (tmp_path / "more.sql").write_text("-- What it is.\nSELECT n.id FROM shop_names AS n")
    shop = loaded(tmp_path, f'{DERIVED}\n[[derived]]\nname = "more"\nkey = ["id"]\nfile = "{tmp_path}/more.sql"\n')
    assert shop.derived[1].query.tables == ("shop_names",)
    assert shop.lake_tables == ["shop_items", "shop_names", "shop_more"]


def test_a_tables_history_is_a_table_next_to_it(tmp_path: Path) -> None:
    write_pipeline(tmp_path, "shop", ["items"], table="history = true")
    shop = load_pipeline("shop", tmp_path)
    assert shop.lake_tables == ["shop_items", "shop_items_history"]
    [job] = derived_jobs(shop, PLACES, JobPace(configuration={keys.POLL_INTERVAL: "0.2"}))
    assert (job.table_path, job.ordering_field) == ("s3a://lake/shop_items_history", COMMIT)
    assert job.configuration[keys.HISTORY_OF] == "s3a://lake/shop_items"
    assert job.configuration[keys.RECORD_KEY] == f"id,{COMMIT},{VERSION}"
    assert job.configuration[keys.POLL_INTERVAL] == "10"


def test_only_the_job_of_a_logged_table_with_a_history_puts_away_what_commits_pass_over(tmp_path: Path) -> None:
    write_pipeline(tmp_path, "shop", ["items"], table="history = true")
    write_pipeline(tmp_path, "plain", ["items"])
    given = [(load_pipeline(name, tmp_path), name) for name in ("shop", "plain")] + [(load_pipeline("pagilaquery"), "")]
    kept = {
        (name or table.name): table_job(pipeline, table, PLACES, JobPace()).configuration.get(keys.HISTORY_KEPT)
        for pipeline, name in given
        for table in pipeline.tables
        if table.history or name
    }
    assert kept == {"shop": "true", "plain": None, "public.city": None}


def test_what_has_no_versions_or_no_name_for_them_is_refused(tmp_path: Path) -> None:
    write_pipeline(tmp_path, "log", ["items"], table="history = true\nappend_only = true")
    path = tmp_path / "log.toml"
    path.write_text(path.read_text().replace('key = ["id"]\n', ""))
    with pytest.raises(SettingsFileError, match=r"tables\[0\].history: an append-only table has each version itself"):
        load_pipeline("log", tmp_path)
    write_pipeline(tmp_path, "shop", ["items", "items_history"], table="history = true")
    with pytest.raises(SettingsFileError, match=r"tables\[0\].history: shop_items_history is another table"):
        load_pipeline("shop", tmp_path)


def test_the_job_is_told_what_to_query(folder: Path) -> None:
    shop = load_pipeline("shop", folder)
    assert (shop.is_queried, load_pipeline("orders").is_queried) == (True, False)
    customers, with_city = (table_job(shop, table, QUERIED, JobPace()) for table in shop.tables)
    of_jdbc = {k: v for k, v in customers.configuration.items() if k.startswith(keys.JDBC_PREFIX)}
    assert of_jdbc == {
        keys.JDBC_TABLE: "public.customers",
        keys.JDBC_DETECTION: "auto",
        keys.JDBC_COLUMN: "changed",
        keys.JDBC_LEFT_OUT: "note",
        keys.JDBC_DELETES_PERCENT: "10",
        keys.JDBC_SWEEP: "5",
        **ASKED,
    }
    assert with_city.configuration[keys.JDBC_QUERY] == "SELECT id FROM public.customers"
    assert keys.JDBC_TABLE not in with_city.configuration
    limits = with_city.configuration[keys.JDBC_DELETES_PERCENT], with_city.configuration[keys.JDBC_SWEEP]
    assert limits == ("50", "60")
    assert (with_city.table, with_city.landing, with_city.ordering_field) == ("shop_with_city", None, READ_MS)
    assert customers.ordering_field == READ_MS


def test_a_queried_table_has_no_folder_of_files_but_a_database(folder: Path) -> None:
    shop = load_pipeline("shop", folder)
    arguments = submit.job_arguments(table_job(shop, shop.tables[0], QUERIED, JobPace()))
    assert arguments[arguments.index("--source-class") + 1].endswith(".JdbcSource")
    assert not [argument for argument in arguments if argument.startswith(keys.FILES_ROOT)]
    several = submit.multi_table_arguments(properties_file="a", config_folder="b", base_path_prefix="c", queried=True)
    assert several[several.index("--source-class") + 1].endswith(".JdbcSource")
    assert several[several.index("--source-ordering-field") + 1] == READ_MS
