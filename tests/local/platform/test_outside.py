"""An outside database: which parts of a DSN count, and which password."""

import json
import threading
from pathlib import Path
from unittest.mock import Mock

import psycopg2
import pytest

from contract import rds_ca
from contract.errors import UserError
from db.connecting import LoadError, LoginError
from local.errors import LockedError, PlatformError
from local.platform import command
from local.platform.command import at_pipeline
from local.platform.connectors import source_settings
from local.platform.job import places
from local.platform.platform import Platform
from local.platform.record import PORTS, Lock, PlatformOptions, RecordFile
from local.services import source_database
from local.services.postgres import Postgres
from local.services.source_database import OutsideDatabase, SourceDatabase, find_password
from local.state import collect
from local.state.collect import Collector
from plugins.source.source_connector import source_connector
from spark_jobs.options import keys
from tests.capture.conftest import no_role  # noqa: F401  a fixture
from tests.conftest import execute
from tests.local.platform.built import services

SHOP = OutsideDatabase(host="db.example.org", port=5433, dbname="shop", sslmode="require")
RDS = "shop.abc.eu-central-1.rds.amazonaws.com"


@pytest.fixture(autouse=True)
def no_choice_of_the_shells(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGSSLMODE", "PGSSLROOTCERT", "PGHOSTADDR", "PGSERVICE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("dsn", ["postgresql://me@db.example.org:5433/shop", "host=db.example.org port=5433 dbname="])
def test_host_port_and_database_count_and_the_pipelines_database_where_none_is_named(dsn: str) -> None:
    assert OutsideDatabase.of(dsn, database="shop") == SHOP


@pytest.mark.parametrize(
    ("dsn", "sslmode", "root"),
    [
        (f"host={RDS}", "verify-full", str(rds_ca.BUNDLE)),
        (f"host={RDS} sslmode=require", "verify-full", str(rds_ca.BUNDLE)),
        (f"host={RDS} sslrootcert={{own}}", "verify-full", "{own}"),
        ("host=db sslmode=verify-full", "verify-full", str(Path.home() / ".postgresql/root.crt")),
        ("host=db sslmode=verify-full sslrootcert={own}", "verify-full", "{own}"),
        # As libpq interprets it, in a form that works for Java, too.
        ("host=db sslrootcert={own}", "verify-ca", "{own}"),
        ("host=localhost sslmode=verify-ca sslrootcert={own}", "verify-ca", "{own}"),
        ("host=db", "require", None),
        ("host=localhost", "prefer", None),
        ("host=127.0.0.1", "prefer", None),
    ],
)
def test_every_login_verifies_the_server_alike(dsn: str, sslmode: str, root: str | None, tmp_path: Path) -> None:
    own = tmp_path / "own.pem"
    own.write_text("PEM")
    expected = (sslmode, root and root.format(own=own))
    pipelines = {name: OutsideDatabase.of(dsn.format(own=own), database="shop") for name in ("orders", "pagilaquery")}
    for name, found in pipelines.items():
        built = services(tmp_path, name, outside=recorded(found, tmp_path))
        looks = built.database.parameters()
        assert (looks["sslmode"], looks.get("sslrootcert")) == expected
        connector = source_connector(source_settings(built))
        assert (connector["database.sslmode"], connector.get("database.sslrootcert")) == expected
    job = places(built).source
    assert (job[f"{keys.JDBC_EXTRA}sslmode"], job.get(keys.JDBC_CA_FILE)) == expected


def recorded(found: OutsideDatabase, folder: Path) -> OutsideDatabase | None:
    """The database as a later command reads it."""
    record = RecordFile(folder)
    record.write(PlatformOptions(outside=found), {}, frozenset())
    return record.read().outside


@pytest.mark.parametrize(
    ("dsn", "message"),
    [
        ("host=a sslrootcert=/no/such.pem", "sslrootcert=/no/such.pem is no file"),
        ("host=a sslrootcert=system", "such as /etc/ssl/certs/ca-certificates.crt, and sslmode=verify-full"),
        ("host=a sslkey=k.pem channel_binding=require sslcert=", "has channel_binding, sslkey, which"),
        ("dbname=x", "must name one host"),
        ("host=/var/run dbname=x", "must name one host"),
        ("host=a,b dbname=x", "must name one host"),
        ("host=a hostaddr=127.0.0.1", "must name one host"),
        ("host=a port=x", "port"),
    ],
)
def test_a_dsn_that_doesnt_do_is_one_line(dsn: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGHOST", raising=False)
    with pytest.raises(UserError, match=message) as refused:
        OutsideDatabase.of(dsn, database="shop")
    assert "\n" not in str(refused.value)


def test_what_is_recorded_has_no_secret_is_read_back_and_verifies_rds(tmp_path: Path) -> None:
    assert recorded(SHOP, tmp_path) == SHOP
    record = json.loads((tmp_path / "state.json").read_text())
    assert set(record["outside"]) == {"host", "port", "dbname", "sslmode", "sslrootcert"}
    # As an earlier release has recorded it.
    record["outside"] = {"host": RDS, "port": 5432, "dbname": "shop", "sslmode": "require"}
    (tmp_path / "state.json").write_text(json.dumps(record))
    found = RecordFile(tmp_path).read().outside
    assert found is not None
    assert found.parameters("reader")["sslmode"] == "verify-full"


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (LoginError("password authentication failed"), ": give the role's password in CDC_CONNECTOR_PASSWORD$"),
        (LoadError("pg_hba.conf rejects connection"), "rejects connection$"),
    ],
)
def test_where_no_password_lets_the_role_in_the_last_reason_and_what_to_do_are_said(
    reason: LoadError, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CDC_CONNECTOR_PASSWORD", "opensesame")
    tried: list[str] = []

    def refuse(parameters: dict[str, str]) -> None:
        tried.append(str(parameters.get("password")))
        raise reason

    monkeypatch.setattr(source_database, "connect", refuse)
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(UserError, match=said) as refused:
        find_password(SHOP, "cdc_connector", tmp_path / "connector")
    assert tried[0] == "opensesame"
    assert "opensesame" not in str(refused.value)


@pytest.mark.parametrize(
    ("pipeline", "refusal", "line"),
    [
        (
            "pagilaquery",
            LoginError("password authentication failed"),
            "the database refuses the role: password authentication failed; `./lake up -p pagilaquery` takes the role's"
            " password from CDC_CONNECTOR_PASSWORD",
        ),
        ("pagila", None, "a look isn't complete: no answer within 0 s from postgres"),
    ],
)
def test_status_says_why_the_database_says_nothing(
    pipeline: str, refusal: LoginError | None, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()
    monkeypatch.setattr(source_database, "connect", Mock(side_effect=refusal))
    monkeypatch.setattr(SourceDatabase, "wal_position", lambda _self: "0/1")
    monkeypatch.setattr(SourceDatabase, "slot", lambda *_: ended.wait())
    monkeypatch.setattr(collect, "HANGS_S", 0.05)
    options = PlatformOptions(pipeline=pipeline, outside=SHOP)
    Platform(tmp_path, options).record.write(options, dict.fromkeys(PORTS, 1), frozenset({"job"}))
    found = [str(problem) for problem in Collector(Platform(tmp_path)).look().problems]
    ended.set()
    assert line in found


def test_a_database_that_is_away_names_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psycopg2, "connect", Mock(side_effect=psycopg2.OperationalError("refused")))
    assert SourceDatabase({"dbname": "shop"}).table_at("cdc_shop", "cdc_shop", 1) is None


def test_a_password_is_kept_unless_another_command_is_at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("find_password", "check_outside"):
        monkeypatch.setattr(command, name, lambda *_: "of today")
    monkeypatch.setattr(Platform, "_choose_ports", Mock(side_effect=PlatformError("no free port")))
    platform = Platform(tmp_path, at_pipeline(PlatformOptions(), tmp_path, "pagilaquery", "host=db.example.org"))
    assert "of today" not in repr(platform.options)
    kept = tmp_path / "secrets" / "connector"
    with Lock(tmp_path / "lock").held(), pytest.raises(LockedError):
        platform.up()
    assert not kept.exists()
    with pytest.raises(PlatformError, match="no free port"):
        platform.up()
    assert kept.read_text() == "of today\n"


@pytest.mark.integration
@pytest.mark.usefixtures("no_role")
def test_a_database_that_doesnt_do_is_refused(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CDC_CONNECTOR_PASSWORD", "Secret/1")
    options = PlatformOptions(pipeline="pagilaquery", outside=SHOP)
    RecordFile(tmp_path).write(options, dict.fromkeys(PORTS, 1), frozenset({"job"}))
    execute(postgres.connection_parameters(), "CREATE ROLE cdc_connector LOGIN PASSWORD 'Secret/1'")
    for pipeline, reason in (("pagilaquery", "address_place: PostgreSQL refused"), ("pagila", "is pipeline pag")):
        with pytest.raises(UserError, match=reason):
            at_pipeline(PlatformOptions(), tmp_path, pipeline, f"postgresql://127.0.0.1:{postgres.port}/postgres")
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]
