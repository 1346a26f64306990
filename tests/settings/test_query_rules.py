"""Pipelines by query: what their files mean to the job, and what is refused in them."""

import json
from pathlib import Path

import pytest

from contract.events import READ_MS
from settings.files import SettingsFileError
from settings.job import JobPace, JobPlaces, table_job
from settings.load_pipeline import load_pipeline
from spark_jobs.options import keys, submit

SHOP = """
[source]
database = "shop"

[[tables]]
source = "public.customers"
how = "query"
key = ["id"]
column = "changed"
leave_out = ["note"]

[[tables]]
name = "with_city"
query = "SELECT id FROM public.customers"
how = "query"
key = ["id"]
deletes_max_percent = 50
sweep_seconds = 60
"""
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
    pipelines = tmp_path / "pipelines"
    (pipelines / "shop").mkdir(parents=True)
    (pipelines / "shop.toml").write_text(SHOP)
    for lake_table in ("customers", "with_city"):
        fields = [{"name": name, "type": "string"} for name in ("id", "changed", "__read_ms")]
        schema = {"type": "record", "name": lake_table, "fields": fields}
        (pipelines / "shop" / f"{lake_table}.avsc").write_text(json.dumps(schema))
    return pipelines


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


QUERIED, OF_QUERY = 'source = "public.customers"\n', 'name = "with_city"\n'
REFUSED = [
    (QUERIED, QUERIED + 'detect = "hash"\n', "tables[0].column: detect = 'hash' asks for no column"),
    ('column = "changed"\n', 'detect = "column"\n', 'tables[0].column: detect = "column" needs it'),
    ('column = "changed"\n', 'column = "note"\n', "tables[0].column: 'note' is left out"),
    (QUERIED, QUERIED + 'hash = ["changed"]\n', "tables[0].hash: a queried table can't hash"),
    (QUERIED, QUERIED + 'truncate = "apply"\n', "tables[0].truncate: no query sees a TRUNCATE"),
    (QUERIED, QUERIED + 'ordering = "changed"\n', "tables[0].ordering: a column may go back"),
    (QUERIED, QUERIED + "deletes_max_percent = 101\n", "tables[0].deletes_max_percent: Input should be less"),
    (QUERIED, QUERIED + 'detect = "cleverly"\n', "tables[0].detect: Input should be 'auto'"),
    (QUERIED, 'schema = "public"\ntable = "a.b"\n', "tables[0].table: public.a.b: a name with a dot"),
    ('leave_out = ["note"]', 'leave_out = ["a,b"]', "tables[0].leave_out: 'a,b' can't stand in a list"),
    (OF_QUERY, "", "tables[1]: query: it stands in a table's place"),
    (OF_QUERY, OF_QUERY + 'source = "public.x"\n', "tables[1]: query: it stands in a table's place"),
    (OF_QUERY, OF_QUERY + 'detect = "xmin"\n', "tables[1].detect: a query's rows have no xmin"),
    (OF_QUERY, OF_QUERY + 'column = "changed"\n', "tables[1].column: the rows of a query are found by their hashes"),
    ('how = "query"', 'how = "log"', "tables[0].column: it is for how = \"query\", and how is 'log': take it out"),
    ('how = "query"', 'how = "log"', "tables: query.with_city: queried, and others are captured by the log"),
    ('how = "query"\nkey = ["id"]\n', 'how = "query"\nappend_only = true\n', "tables[0].append_only: rows that are"),
]


@pytest.mark.parametrize(("old", "new", "reason"), REFUSED)
def test_what_is_wrong_is_a_line_that_names_the_key(folder: Path, old: str, new: str, reason: str) -> None:
    assert old in SHOP
    (folder / "shop.toml").write_text(SHOP.replace(old, new, 1))
    with pytest.raises(SettingsFileError) as caught:
        load_pipeline("shop", folder)
    assert any(f"{reason}" in line for line in str(caught.value).splitlines()), str(caught.value)
