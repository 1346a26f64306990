"""Steps of jobs: a table's properties in a command or a file, and how the job parses query-based ones."""

import hashlib
import json
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest

from plugins.source.source_connector import source_connector
from settings.connectors import source_settings
from settings.environment import Environment
from settings.job import server
from settings.load import load
from spark_jobs.options import keys
from spark_jobs.options.command_line import parse, parse_many
from spark_jobs.options.jdbc_settings import Detection, jdbc_settings
from spark_jobs.options.properties import parse as pairs_of
from spark_jobs.options.properties import parse_overrides
from spark_jobs.options.settings import FileSettings, decide
from spark_jobs.options.table_list import TableList
from spark_jobs.options.table_settings import check_hudis
from stacks.job_steps import Jobs, Step
from stacks.processing import jobs
from stacks.processing.jobs import JobAssets
from tests.settings.pipelines import add_to, copied_pipelines, write_pipeline
from tests.stacks.environments import mixed
from tests.stacks.settings import copied

ASSETS = "s3://assets/"


class Files:
    """Stands in for JobAssets: keeps what is written."""

    archive = "s3://assets/archive.zip"

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def application(self, name: str) -> str:
        return f"s3://assets/{name}"

    schema = properties = application

    def driver(self) -> str:
        return self.application("postgresql.jar")

    def text(self, name: str, text: str) -> str:
        self.texts[name] = text
        return self.application(name)


def of_shop(folder: Path, entry: str, *, one_step: bool = True) -> Environment:
    """dev with a pipeline `shop` of one table, whose entry has these lines."""
    environments, pipelines = copied(folder), copied_pipelines(folder)
    write_pipeline(pipelines, "shop", ["orders"], table=entry)
    add_to(environments, "shop", "[pipelines.job]", f"one_step = {str(one_step).lower()}")
    return load("dev", environments, pipelines)


@pytest.mark.parametrize("one_step", [True, False])
def test_a_tables_entry_reaches_its_job(tmp_path: Path, *, one_step: bool) -> None:
    """What each entry means: tests/settings/test_job.py."""
    found, files = of_shop(tmp_path, 'retention_hours = 168\nevolution = "fixed"', one_step=one_step), Files()
    steps = Jobs(found, cast(JobAssets, files)).steps()
    if one_step:
        told = set(files.texts["dev/shop_orders.properties"].replace("\\", "").splitlines())
    else:
        told = {argument for step in steps if step.name.endswith("shop_orders") for argument in step.arguments}
    assert {"hoodie.cleaner.hours.retained=168", "hoodie.streamer.schema.max.new.columns=0"} <= told


@pytest.mark.parametrize("one_step", [True, False])
def test_derived_tables_are_kept_by_the_application_of_many_tables(tmp_path: Path, *, one_step: bool) -> None:
    environments, pipelines = copied(tmp_path), copied_pipelines(tmp_path)
    write_pipeline(pipelines, "shop", ["orders"], table="history = true")
    path = pipelines / "shop.toml"
    path.write_text(
        f'{path.read_text()}\n[[derived]]\nname = "names"\nkey = ["id"]\nsql = "SELECT o.id FROM shop_orders AS o"\n'
    )
    add_to(environments, "shop", "[pipelines.job]", f"one_step = {str(one_step).lower()}")
    found, files = load("dev", environments, pipelines), Files()
    Jobs(found, cast(JobAssets, files)).steps()
    told = files.texts["dev/shop_names.properties"].replace("\\", "")
    lake = f"s3://{found.bucket_name('lake')}"
    assert f"hoodie.streamer.source.sql.tables=shop_orders={lake}/shop_orders\n" in told
    assert f"hoodie.streamer.history.of={lake}/shop_orders\n" in files.texts[
        "dev/shop_orders_history.properties"
    ].replace("\\", "")
    for name in ("shop_names", "shop_orders_history"):
        assert f"{found.lake.database}.{name}" in files.texts["dev/tables.properties"]


def test_columns_that_are_left_out_or_hashed_reach_the_source_connector(tmp_path: Path) -> None:
    found = of_shop(tmp_path, 'leave_out = ["photo"]\nhash = ["name"]')
    configuration = source_connector(source_settings(found, found.pipelines[1]))
    assert configuration["column.exclude.list"] == r"(?-i:public\.orders\.photo)"
    assert configuration["hashed.columns"] == r"(?-i:public\.orders\.name)"


@pytest.mark.parametrize("one_step", [True, False])
def test_a_direct_first_load_reaches_job_and_connector(tmp_path: Path, *, one_step: bool) -> None:
    entry = 'first_load = "direct"\nleave_out = ["photo"]\nhistory = true'
    found, files = of_shop(tmp_path, entry, one_step=one_step), Files()
    common, own = Jobs(found, cast(JobAssets, files), {"shop": SOURCE}).steps()
    assert "jdbc" not in str(common) + files.texts["dev/tables.properties"]
    assert ("--jars", "s3://assets/postgresql.jar") in [(a, b.split(",")[-1]) for a, b in pairwise(own.arguments)]
    of_table = read(files, "s3://assets/dev/shop_orders.properties")
    # Host and secret aren't known when a file is written.
    assert not SOURCE.keys() & of_table.keys()
    if one_step:
        listed = TableList(parse_many(of_program(own)), lambda address: files.texts.get(address[len(ASSETS) :], ""))
        understood, history = (listed.settings(table, pytest.fail) for table in listed.tables)
        assert history.first_load is None
    else:
        options = parse(of_program(own))
        understood = decide(options, of_table | dict(parse_overrides(options.hoodie_conf)), pytest.fail)
    loaded = understood.first_load
    assert loaded is not None
    assert (loaded.slot, loaded.publication) == ("cdc_shop", "cdc_shop")
    assert (loaded.jdbc.name, loaded.jdbc.left_out) == ("public.orders", ("photo",))
    assert (loaded.jdbc.server.password.secret, loaded.jdbc.server.hosts) == (SECRET, ("db.example.com",))
    assert isinstance(understood.source, FileSettings)
    configuration = source_connector(source_settings(found, found.pipelines[1]))
    assert configuration["snapshot.mode"] == "no_data"
    assert "txId" in configuration["transforms.unwrap.add.fields"]


TABLES = ("address", "city", "country", "address_place")
MADE_OF_THESE = ["country_addresses", "city_history"]
SECRET = "arn:aws:secretsmanager:eu-west-1:111111111111:secret:reader-AbCdEf"
SOURCE = server(
    host="db.example.com",
    port=5432,
    database="pagila",
    password={keys.JDBC_PASSWORD_SECRET: SECRET},
    authority="s3://assets/root.pem",
)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return mixed(tmp_path_factory.mktemp("mixed"))


@pytest.fixture(scope="module")
def files() -> Files:
    return Files()


@pytest.fixture(scope="module")
def steps(environment: Environment, files: Files) -> list[Step]:
    sources = {pipeline.name: SOURCE for pipeline in environment.queried}
    return Jobs(environment, cast(JobAssets, files), sources).steps()


def of_program(step: Step) -> list[str]:
    """The job's own options: those after its program."""
    program = next(n for n, argument in enumerate(step.arguments) if argument.endswith("streamer.py"))
    return step.arguments[program + 1 :]


def read(files: Files, address: str) -> dict[str, str]:
    """Read a properties file without its includes, which the test's lacks."""
    text = files.texts[address.removeprefix(ASSETS)]
    return {key: value for key, value in pairs_of(text) if key != "include"}


def test_what_is_queried_has_an_application_for_its_database_or_one_for_each_table(steps: list[Step]) -> None:
    assert [step.name for step in steps] == [
        "dev-cdc-lake-tables",
        "dev-cdc-lake-pagilaquery-tables",
        *(f"dev-cdc-lake-replica_{table}" for table in TABLES),
    ]


def test_only_a_step_that_queries_has_the_driver(steps: list[Step]) -> None:
    jars = [dict(pairwise(step.arguments))["--jars"].split(",")[2:] for step in steps]
    assert jars == [[]] + 5 * [["s3://assets/postgresql.jar"]]


def test_the_job_of_all_tables_takes_what_the_step_says(steps: list[Step], files: Files) -> None:
    options = parse_many(of_program(steps[1])).shared
    given = dict(parse_overrides(options.hoodie_conf))
    listed = read(files, str(options.props))
    tables = listed[keys.TABLES].split(",")
    assert [table.rpartition(".")[2].removeprefix("pagilaquery_") for table in tables] == [*TABLES, *MADE_OF_THESE]
    for table in tables[: len(TABLES)]:
        own = read(files, listed[f"{keys.INGESTION_PREFIX}{table}{keys.CONFIG_FILE_SUFFIX}"])
        check_hudis(own | given, pytest.fail)
        found = jdbc_settings(options, own | given)
        assert found.server.hosts == ("db.example.com",)
        assert found.server.password.secret == SECRET
        assert found.server.ca_file == "s3://assets/root.pem"
        assert (found.query is None) == (found.detection is not Detection.HASH)
        assert own[keys.RECORD_KEY]


def test_a_tables_job_takes_what_the_step_says_and_its_query_from_a_file(steps: list[Step], files: Files) -> None:
    arguments = of_program(steps[-1])
    options = parse(arguments)
    own = read(files, str(options.props))
    given = own | dict(parse_overrides(options.hoodie_conf))
    check_hudis(given, pytest.fail)
    found = jdbc_settings(options, given)
    assert found.query is not None
    assert "JOIN public.country" in found.query
    assert not any("JOIN" in argument for argument in steps[-1].arguments)
    assert ("--ignore-checkpoint", "2026-11-22") in pairwise(arguments)
    assert ("--executor-memory", "1g") in pairwise(steps[-1].arguments)


def test_no_secret_and_nothing_of_a_query_is_in_a_command(steps: list[Step]) -> None:
    for step in steps:
        assert len(" ".join(step.arguments)) < 5_000
        assert all("\n" not in argument for argument in step.arguments)


@pytest.mark.synth
def test_the_driver_is_postgresqls() -> None:
    assert jobs.driver_jar().name.startswith("postgresql-")


def test_the_driver_is_the_locked_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "CACHE", tmp_path)
    lock, jar = tmp_path / "jars.lock", tmp_path / "postgresql" / "driver.jar"
    lock.write_text(json.dumps({"postgresql": {"driver.jar": {"sha256": hashlib.sha256(b"a jar").hexdigest()}}}))
    jar.parent.mkdir()
    jar.write_bytes(b"a jar")
    assert jobs.driver_jar(lock) == jar
    jar.write_bytes(b"another jar")
    with pytest.raises(jobs.DriverError, match=r"driver\.jar isn't the jar that jars\.lock names: run `make setup`"):
        jobs.driver_jar(lock)


def test_a_driver_that_is_not_there_is_one_line() -> None:
    with pytest.raises(jobs.DriverError, match="run `make setup`"):
        jobs.driver_jar()
