"""Derived tables in a pipeline's file: what they mean to the job, and what is refused in them."""

from pathlib import Path

import pytest

from contract.events import READ_MS
from contract.history import COMMIT, VERSION
from settings.files import SettingsFileError
from settings.job import JobPace, JobPlaces, derived_job, derived_jobs, table_job
from settings.load_pipeline import load_pipeline
from settings.pipeline import Pipeline
from spark_jobs.options import keys
from tests.settings.pipelines import DERIVED, write_pipeline

PLACES = JobPlaces(
    landing="s3a://landing",
    lake="s3a://lake",
    schemas="/pipelines",
    shared_properties="/lean.properties",
    database="datalake",
)


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


def test_it_is_looked_at_as_often_as_the_platform_wants(tmp_path: Path) -> None:
    shop = loaded(tmp_path, DERIVED)
    assert derived_job(shop, shop.derived[0], PLACES, JobPace(derived_seconds=2)).sync_interval_seconds == 2
    assert derived_job(shop, shop.derived[0], PLACES, JobPace()).sync_interval_seconds == 30


def test_a_query_may_be_a_file_and_name_derived_tables_before_it(tmp_path: Path) -> None:
    (tmp_path / "more.sql").write_text("-- What it is.\nSELECT n.id FROM shop_names AS n")
    shop = loaded(tmp_path, f'{DERIVED}\n[[derived]]\nname = "more"\nkey = ["id"]\nfile = "{tmp_path}/more.sql"\n')
    assert shop.derived[1].query.tables == ("shop_names",)
    assert shop.lake_tables == ["shop_items", "shop_names", "shop_more"]


def test_a_tables_history_is_a_table_beside_it(tmp_path: Path) -> None:
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
