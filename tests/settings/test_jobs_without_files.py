"""What tables without files mean to the job: query-based and derived ones."""

from dataclasses import replace
from pathlib import Path

import pytest

from contract.events import READ_MS
from contract.history import COMMIT, VERSION
from settings.job import JobPace, derived_job, derived_jobs, table_job
from settings.load import SettingsFileError, load_pipeline
from settings.pipeline import Pipeline
from spark_jobs.options import keys, submit
from tests.settings.pipelines import DERIVED, queried_shop, write_pipeline
from tests.settings.test_job import ASKED, PLACES

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
    job = derived_job(shop, shop.derived[0], PLACES, JobPace(configuration={"a": "b"}))
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
    assert derived_job(shop, shop.derived[0], PLACES, JobPace(derived_seconds=2)).sync_interval_seconds == 2


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
