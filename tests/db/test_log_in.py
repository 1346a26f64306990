"""How the user logs in, and which server certificates a client accepts."""

import contextlib
import json
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import boto3
import psycopg2
import pytest
from botocore.exceptions import EndpointConnectionError
from moto import mock_aws
from typer.testing import CliRunner

from cli.__main__ import app
from contract import rds_ca
from contract.errors import CANNOT
from db import loading, log_in
from db.connecting import LoadError, UnreachableError, connect
from db.loading import LoadOptions, LoadReport
from db.log_in import DEFAULTS, of_secret
from local.services.postgres import Postgres
from local.setup.ports import HOST
from tests.operate.pausing import cloud
from tests.tls import Authority, encrypted

SECRET = "hunter2"


@pytest.fixture(autouse=True)
def no_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGSERVICE", "PGSSLROOTCERT"):
        monkeypatch.delenv(name, raising=False)


WORDS = "host=db.example.com port=5433 user=me dbname=shop"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("postgresql://me@db.example.com:5433/shop", WORDS),
        (WORDS, WORDS),
        # On this machine TLS may be off.
        ("postgresql://127.0.0.1?sslmode=disable", "host=127.0.0.1 sslmode=disable"),
    ],
)
def test_a_dsn_is_a_url_or_words(text: str, words: str) -> None:
    assert log_in.of_dsn(text) == dict(word.split("=") for word in words.split())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "DSN is missing: which database?"),
        (f"postgresql://me:{SECRET}@db/shop", "DSN has a password, which all users of this machine can read"),
        (f"host=db password={SECRET}", "DSN has a password"),
        (f"host=db sslpassword={SECRET}", "DSN has a sslpassword"),
        (f"postgres://me:{SECRET}@db:port/shop?x", "DSN isn't one that libpq understands"),
        (f"{SECRET}", "DSN isn't one that libpq understands"),
        ("host=db sslmode=prefer", "DSN has sslmode=prefer: a password only goes to another machine over TLS"),
        ("host=localhost,db sslmode=disable", "DSN has sslmode=disable"),
        ("host=localhost,localhost hostaddr=127.0.0.1,10.0.0.9 sslmode=disable", "DSN has sslmode=disable"),
        ("host=127.0.0.1.example.com sslmode=disable", "DSN has sslmode=disable"),
        ("host=db replication=database", "DSN asks for a replication connection"),
    ],
)
def test_a_dsn_that_is_refused_is_one_line_without_what_it_may_hide(text: str, reason: str) -> None:
    with pytest.raises(LoadError) as raised:
        log_in.of_dsn(text)
    assert str(raised.value).startswith(reason)
    assert SECRET not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_host_that_the_environment_names_counts_as_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "db.example.com")
    assert log_in.of_dsn("dbname=shop") == {"host": "db.example.com", "dbname": "shop"}
    with pytest.raises(LoadError, match="over TLS"):
        log_in.of_dsn("dbname=shop sslmode=allow")


def test_a_services_host_decides_how_it_is_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    (tmp_path / "services").write_text("# ours\n[shop]\nhost=db.example.com\nsslmode=verify-full\nport=5433\n")
    expected = {"host": "db.example.com", "sslmode": "verify-full", "port": "5433", "dbname": "crm"}
    assert log_in.of_dsn("service=shop dbname=crm") == expected
    monkeypatch.setenv("PGSERVICE", "shop")
    assert log_in.of_dsn("dbname=crm") == expected
    for content in (b"[shop]", "[other]\n# für uns".encode("latin-1")):
        (tmp_path / "services").write_bytes(content)
        with pytest.raises(LoadError, match=r"service=other, which isn't in .*services or "):
            log_in.of_dsn("service=other")


MASTER_HOST = "dev-cdc-lake.cluster-abc.ap-southeast-2.rds.amazonaws.com"
MASTER = {
    "engine": "postgres",
    "host": MASTER_HOST,
    "port": 5432,
    "username": "postgres",
    "password": "Master-Password",
    "dbname": "devdb",
    "dbClusterIdentifier": "dev-cdc-lake",
}


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "none")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-southeast-2")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with mock_aws():
        manager = boto3.client("secretsmanager")
        manager.create_secret(Name="master", SecretString=json.dumps(MASTER))
        manager.create_secret(
            Name="connector", SecretString='{"username": "cdc_connector", "password": "Its-Password"}'
        )
        yield manager


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[dict[str, Any], LoadOptions]]:
    """What the command would have loaded, and where."""
    seen: list[tuple[dict[str, Any], LoadOptions]] = []

    def note(parameters: dict[str, Any], options: LoadOptions, _progress: object) -> LoadReport:
        seen.append((parameters, options))
        return LoadReport({}, 0, 0.0)

    monkeypatch.setattr(loading, "load", note)
    monkeypatch.setenv("PGPASSWORD", "from-the-environment")
    monkeypatch.setenv("CDC_CONNECTOR_PASSWORD", "from-the-environment-too")
    return seen


def run(*options: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["source", "load", "--yes", *options])
    return result.exit_code, result.stderr


@pytest.mark.usefixtures("secrets")
@pytest.mark.parametrize(
    ("options", "otherwise", "connector"),
    [
        ((), {}, "from-the-environment-too"),
        # So that a tunnel works.
        (("--host", "127.0.0.1", "--port", "15432"), {"host": "127.0.0.1", "port": 15432}, "from-the-environment-too"),
        (("--connector-secret-id", "connector"), {}, "Its-Password"),
    ],
)
def test_the_secret_says_how_to_log_in_and_the_command_line_has_the_last_word(
    loads: list[Any], options: tuple[str, ...], otherwise: dict[str, Any], connector: str
) -> None:
    assert run("--secret-id", "master", *options)[0] == 0
    [(parameters, given)] = loads
    login = {key: MASTER[key] for key in ("host", "port", "dbname", "password")} | {"user": "postgres"}
    assert parameters == login | otherwise
    assert given.connector_password == connector


def test_without_a_secret_nothing_is_asked_of_aws(loads: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boto3, "client", None)
    assert run()[0] == 0
    assert loads[0][0] == DEFAULTS | {"password": "from-the-environment"}


def test_a_secret_without_a_host_leaves_it_to_the_defaults(secrets: Any) -> None:
    secrets.create_secret(Name="short", SecretString='{"username": "me", "password": "x", "host": ""}')
    assert of_secret("short") == {"user": "me", "password": "x"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("not JSON, perhaps-a-password", "isn't a JSON object"),
        ('["list"]', "isn't a JSON object"),
        ("", "isn't a JSON object"),  # binary
        (None, r".*\(check its name and the region\)"),
        ("{}", "has no user and no password"),
        ('{"username": "me", "password": "x", "port": "perhaps-a-password"}', "a port that isn't a number"),
        ('{"username": "me", "password": "x", "port": 70000}', "a port that isn't a number"),
    ],
)
def test_a_secret_of_another_form_is_one_line_that_keeps_it(secrets: Any, text: str | None, reason: str) -> None:
    if text is not None:
        secrets.create_secret(Name="odd", **({"SecretString": text} if text else {"SecretBinary": b"\0\1"}))
    status, shown = run("--secret-id", "odd")
    assert status == CANNOT
    assert re.match(f"error: .*the secret odd.* {reason}", shown)
    assert shown.count("\n") == 1
    assert "perhaps-a-password" not in shown


def test_without_a_region_it_says_what_to_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    # Or boto3 would check whether this machine is on EC2.
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    with pytest.raises(LoadError, match="no AWS region: set AWS_REGION"):
        of_secret("master")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (EndpointConnectionError(endpoint_url="https://secretsmanager.example"), "Could not connect"),
        (cloud.error("ThrottlingException", "X"), "Throttling"),
        (cloud.error("InternalServiceError", "X", 500), "Internal"),
        (cloud.error("Odd", "X", 429), "Odd"),
    ],
)
def test_an_outage_of_aws_is_one_line_and_may_pass(
    monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    monkeypatch.setattr(boto3, "client", lambda *_args, **_options: Mock(get_secret_value=Mock(side_effect=error)))
    with pytest.raises(UnreachableError, match=f"cannot read the secret master: {reason}"):
        of_secret("master")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("the database system is in recovery mode", UnreachableError),
        ("the database system is not yet accepting connections", UnreachableError),
        ("sorry, too many clients already", UnreachableError),
        ("remaining connection slots are reserved for roles with the SUPERUSER attribute", UnreachableError),
        ('database "shop" does not exist', LoadError),
    ],
)
def test_a_server_that_refuses_for_now_may_be_asked_again(
    monkeypatch: pytest.MonkeyPatch, text: str, kind: type[LoadError]
) -> None:
    error = psycopg2.OperationalError(f'connection to server at "db", port 5432 failed: FATAL:  {text}\n')
    monkeypatch.setattr(psycopg2, "connect", Mock(side_effect=error))
    with pytest.raises(LoadError, match=text) as raised:
        connect({"host": "db"})
    assert type(raised.value) is kind


@pytest.mark.parametrize("options", [("--scale", "2"), ("--from", "dump.sql")])
def test_empty_tables_and_rows_contradict_one_another(loads: list[Any], options: tuple[str, ...]) -> None:
    status, shown = run("--empty", *options)
    assert (status, loads) == (CANNOT, [])
    assert "--empty loads no rows" in shown


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority("The test's RDS")


@pytest.mark.integration
def test_a_server_that_is_gone_is_noticed_within_a_minute_or_as_the_user_says(postgres: Postgres) -> None:
    with (
        contextlib.closing(connect({**postgres.connection_parameters(), "keepalives_count": 5})) as connection,
        socket.socket(fileno=os.dup(connection.fileno())) as ours,
    ):
        wanted = {socket.TCP_KEEPIDLE: 30, socket.TCP_KEEPINTVL: 10, socket.TCP_KEEPCNT: 5}
        wanted[socket.TCP_USER_TIMEOUT] = 60_000
        assert {option: ours.getsockopt(socket.IPPROTO_TCP, option) for option in wanted} == wanted


@pytest.mark.integration
@pytest.mark.parametrize("mode", ["", " sslmode=require", " sslmode=verify-full"])
def test_a_dsn_reaches_the_right_server_and_no_other(
    mode: str, postgres: Postgres, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command verifies it alike (tests/local/platform/test_outside.py)."""
    (tmp_path / "root.pem").write_text(authority.root)
    monkeypatch.setattr(rds_ca, "BUNDLE", tmp_path / "root.pem")
    monkeypatch.setattr(rds_ca, "is_rds", lambda host: host == "localhost")
    parameters = postgres.connection_parameters()
    monkeypatch.setenv("PGPASSWORD", parameters["password"])
    certificates = {
        "": authority.server("localhost", tmp_path),
        r"certificate verify failed \(.*in contract/rds-ca\.pem": Authority("Another").server("localhost", tmp_path),
        "does not match host name": authority.server("other", tmp_path),
    }
    for reason, certificate in certificates.items():
        refused = contextlib.nullcontext() if not reason else pytest.raises(LoadError, match=reason)
        with encrypted(postgres.port, certificate) as port, refused as found:
            dsn = f"host=localhost port={port} user=postgres dbname=postgres{mode}"
            log_in.connected(log_in.of_dsn(dsn))[0].close()
        if found is not None:
            # Waiting doesn't help: no one is asked to.
            assert not isinstance(found.value, UnreachableError)
            assert "\n" not in str(found.value)
    with pytest.raises(LoadError, match="server does not support SSL"):
        log_in.connected(log_in.of_dsn(f"host=localhost port={postgres.port} user=postgres dbname=postgres{mode}"))


@pytest.mark.integration
def test_a_server_of_rds_is_always_fully_verified_and_the_users_own_authority_counts(
    postgres: Postgres, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.pem").write_text(authority.root)
    monkeypatch.setenv("PGSSLROOTCERT", str(tmp_path / "own.pem"))
    monkeypatch.setenv("PGSSLMODE", "disable")
    with encrypted(postgres.port, authority.server(MASTER_HOST, tmp_path)) as port:
        # By its name, through a tunnel.
        parameters = {**postgres.connection_parameters(), "host": MASTER_HOST, "hostaddr": HOST, "port": port}
        with contextlib.closing(connect(parameters)) as connection:
            assert connection.info.ssl_in_use
            assert connection.info.dsn_parameters["sslmode"] == "verify-full"
