"""Pipelines by query: what their files mean to the job."""

from pathlib import Path

import pytest

from contract.events import READ_MS
from settings.job import JobPace, JobPlaces, table_job
from settings.load_pipeline import load_pipeline
from spark_jobs.options import keys, submit
from tests.settings.pipelines import queried_shop

PLACES = JobPlaces(
    landing="s3a://landing",
    lake="s3a://lake",
    schemas="/pipelines",
    shared_properties="/lean.properties",
    database="datalake",
    source={keys.JDBC_URL: "jdbc:postgresql://localhost:5432/shop", keys.JDBC_PASSWORD_FILE: "/secret"},
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return queried_shop(tmp_path).parent


def test_a_pipeline_whose_tables_are_queried_says_so(folder: Path) -> None:
    assert load_pipeline("shop", folder).is_queried
    assert not load_pipeline("orders").is_queried


def test_queried_rows_are_ordered_by_when_they_were_read(folder: Path) -> None:
    assert {table.ordering for table in load_pipeline("shop", folder).tables} == {READ_MS}


def test_the_job_is_told_what_to_query(folder: Path) -> None:
    shop = load_pipeline("shop", folder)
    customers, with_city = (table_job(shop, table, PLACES, JobPace()) for table in shop.tables)
    of_jdbc = {k: v for k, v in customers.configuration.items() if k.startswith(keys.JDBC_PREFIX)}
    assert of_jdbc == {
        keys.JDBC_TABLE: "public.customers",
        keys.JDBC_DETECTION: "auto",
        keys.JDBC_COLUMN: "changed",
        keys.JDBC_LEFT_OUT: "note",
        keys.JDBC_DELETES_PERCENT: "10",
        keys.JDBC_SWEEP: "5",
        **PLACES.source,
    }
    assert with_city.configuration[keys.JDBC_QUERY] == "SELECT id FROM public.customers"
    assert keys.JDBC_TABLE not in with_city.configuration
    assert (with_city.configuration[keys.JDBC_DELETES_PERCENT], with_city.configuration[keys.JDBC_SWEEP]) == (
        "50",
        "60",
    )
    assert (with_city.table, with_city.landing, with_city.ordering_field) == ("shop_with_city", None, READ_MS)


def test_a_queried_table_has_no_folder_of_files_but_a_database(folder: Path) -> None:
    shop = load_pipeline("shop", folder)
    arguments = submit.job_arguments(table_job(shop, shop.tables[0], PLACES, JobPace()))
    assert arguments[arguments.index("--source-class") + 1].endswith(".JdbcSource")
    assert not [argument for argument in arguments if argument.startswith(keys.FILES_ROOT)]
    several = submit.multi_table_arguments(properties_file="a", config_folder="b", base_path_prefix="c", queried=True)
    assert several[several.index("--source-class") + 1].endswith(".JdbcSource")
    assert several[several.index("--source-ordering-field") + 1] == READ_MS
