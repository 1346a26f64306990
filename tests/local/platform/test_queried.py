"""A query-based pipeline on the local platform: its services and its job's options, without starting it."""

from pathlib import Path

import pytest
from rich.console import Console

from contract.states import Word
from local.dashboard.state import judge
from local.errors import PlatformError
from local.look.show_status import print_status
from local.look.status import DataStatus, Status, TableStatus
from local.platform.command import left_behind
from local.platform.job import looked_file, multi_table_arguments, places
from local.platform.platform import CONNECTORS, Platform
from local.platform.record import PlatformOptions, passwords
from local.platform.services import DERIVED, HISTORY, Services
from local.resnapshot.command import resnapshot_tables
from local.resnapshot.run import Wanted
from settings.load import load_pipeline
from spark_jobs.options import command_line, keys, properties
from spark_jobs.options.jdbc_settings import Detection, JdbcSettings, jdbc_settings
from tests.local.dashboard.test_state import WELL, stage
from tests.local.platform import built

NAME = "pagilaquery"


@pytest.fixture
def services(tmp_path: Path) -> Services:
    return built.services(tmp_path, NAME, passwords=passwords(tmp_path / "secrets"))


@pytest.fixture
def platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Platform:
    """A platform that was never up."""
    monkeypatch.setattr(Platform, "services", property(lambda _self: type("S", (), {"pipeline": load_pipeline(NAME)})))
    return Platform(tmp_path, PlatformOptions(pipeline=NAME))


def test_nothing_of_kafka_is_started(tmp_path: Path) -> None:
    platform = Platform(tmp_path, PlatformOptions(pipeline=NAME, supervised=True))
    wanted = platform._wanted_services(load_pipeline(NAME))
    assert wanted == {"supervisor", "job", "s3", "moto", "postgres"}
    assert {*CONNECTORS} <= platform._wanted_services(load_pipeline("pagila"))


def test_a_table_that_is_made_of_others_says_how(services: Services) -> None:
    assert [(table.name, table.kind) for table in services.derived] == [
        ("pagilaquery_country_addresses", DERIVED),
        ("pagilaquery_city_history", HISTORY),
    ]


def test_what_listens_is_the_database_and_the_storage(services: Services) -> None:
    assert set(services.listening) == {"postgres", "s3", "moto"}


def test_the_job_logs_in_as_the_pipelines_role_by_a_file(services: Services) -> None:
    source = places(services).source
    assert source[keys.JDBC_URL] == "jdbc:postgresql://127.0.0.1:20000/pagila"
    assert source[keys.JDBC_USER] == "cdc_connector"
    assert Path(source[keys.JDBC_PASSWORD_FILE]).read_text().strip() == services.connector["password"]
    assert services.connector["password"] not in str(source)


def test_the_job_understands_what_it_is_told(services: Services, tmp_path: Path) -> None:
    arguments = multi_table_arguments(services.pipeline, tmp_path / "tables", places(services))
    assert command_line.parse_many(arguments).shared.source_class.endswith("JdbcSource")
    found: dict[str, JdbcSettings] = {}
    warned: list[str] = []
    captured = {services.pipeline.lake_table(table) for table in services.pipeline.tables}
    for file in (tmp_path / "tables").glob("*.properties"):
        if file.stem not in captured:
            continue
        pairs = properties.load(str(file), lambda path: Path(path).read_text())
        base = ["--table-type", "COPY_ON_WRITE", "--source-class", "JdbcSource"]
        given = command_line.parse(
            [*base, "--target-base-path", "s3a://lake/x", "--target-table", f"datalake.{file.stem}"]
        )
        found[file.stem] = jdbc_settings(given, properties.combine(pairs, []), warned.append)
    assert warned == []
    assert {source.name for source in found.values()} >= {"public.address", "public.city", "public.country"}
    assert found["pagilaquery_address_place"].detection is Detection.HASH
    assert "JOIN public.country" in str(found["pagilaquery_address_place"].query)
    # A comparison reads here how far the job has read.
    assert found["pagilaquery_city"].looked_file == str(looked_file(tmp_path, "pagilaquery_city"))


def test_a_status_shows_no_way_that_there_is_not() -> None:
    tables = (TableStatus(name="a", lake_rows=1), TableStatus(name="b", lake_rows=2))
    console = Console(record=True, width=120)
    print_status(console, Status(services=[], data=DataStatus(tables=tables, queried=True), problems=[]))
    shown = console.export_text()
    assert "lake rows" in shown
    assert not any(word in shown for word in ("topic", "landed", "slot", "landing"))


def test_a_database_of_ones_own_keeps_nothing_of_it(platform: Platform) -> None:
    assert left_behind(platform) == "everything is stopped; nothing of the pipeline is left in None"


def test_a_platform_that_runs_says_what_it_has_not(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Platform, "running", lambda _self: {"postgres"})
    with pytest.raises(PlatformError, match="pipeline pagilaquery is queried, so it has no kafka, connect"):
        platform.require("postgres", "kafka", "connect")


def test_a_dashboard_without_stages_in_between_claims_no_more_than_is_known() -> None:
    found = judge(WELL, (), [stage("lake"), stage("catalogue")], unanswered_s=0)
    assert found.word is Word.UP_TO_DATE
    assert found.reason == "the job runs, and each look brings what changed before it"


def test_a_resnapshot_names_what_reads_queried_tables_anew(platform: Platform) -> None:
    with pytest.raises(PlatformError, match=r"pipeline pagilaquery is queried: `\./lake reconcile --repair`"):
        resnapshot_tables(platform, (), Wanted())
