"""Which certificates a client accepts for the source database; our own CA stands in for RDS's."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from contract import rds_ca
from db import log_in
from db.connecting import LoadError, UnreachableError, connect
from local.errors import PlatformError
from local.platform.record import PlatformOptions, RecordFile
from local.services.postgres import Postgres
from local.services.source_database import OutsideDatabase, SourceDatabase, find_password
from local.setup.ports import HOST
from tests.tls import Authority, encrypted

pytestmark = pytest.mark.integration

ENDPOINT = "dev-cdc-lake.cluster-abc.ap-southeast-2.rds.amazonaws.com"
Parameters = dict[str, Any]
REFUSALS = (LoadError, PlatformError, psycopg2.OperationalError)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority("The test's RDS")


@pytest.fixture(scope="module")
def server(postgres: Postgres, authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parameters]:
    """Reach the server by its name, through a tunnel."""
    with encrypted(postgres.port, authority.server(ENDPOINT, tmp_path_factory.mktemp("tls"))) as port:
        yield {**postgres.connection_parameters(), "host": ENDPOINT, "hostaddr": HOST, "port": port}


@pytest.fixture
def trusted(authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's CA in place of RDS's."""
    path = tmp_path / "root.pem"
    path.write_text(authority.root)
    monkeypatch.setattr(rds_ca, "BUNDLE", path)


@pytest.mark.usefixtures("trusted")
def test_a_server_of_the_right_authority_and_name_is_taken(server: Parameters) -> None:
    with contextlib.closing(connect(server)) as connection:
        assert connection.info.ssl_in_use
        assert connection.info.dsn_parameters["sslmode"] == "verify-full"


def test_another_authority_is_refused_in_one_line(server: Parameters) -> None:
    with pytest.raises(LoadError, match=r"certificate verify failed \(.*in contract/rds-ca\.pem") as error:
        connect(server)
    assert "\n" not in str(error.value)
    # Waiting doesn't help: no one is asked to.
    assert not isinstance(error.value, UnreachableError)


@pytest.mark.usefixtures("trusted")
def test_another_name_is_refused_in_one_line(server: Parameters) -> None:
    other = "prod-cdc-lake.cluster-abc.ap-southeast-2.rds.amazonaws.com"
    with pytest.raises(LoadError, match=f"does not match host name .{other}.") as error:
        connect(server | {"host": other})
    assert not isinstance(error.value, UnreachableError)


@pytest.mark.usefixtures("trusted")
def test_a_server_without_tls_is_refused_in_one_line(server: Parameters, postgres: Postgres) -> None:
    with pytest.raises(LoadError, match="server does not support SSL, but SSL was required"):
        connect(server | {"port": postgres.port})


@pytest.mark.usefixtures("trusted")
def test_no_weaker_choice_of_the_users_counts_for_rds(server: Parameters, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSSLMODE", "disable")
    with contextlib.closing(connect(server)) as connection:
        assert connection.info.dsn_parameters["sslmode"] == "verify-full"


def by_dsn(text: str, _kept: Path) -> None:
    log_in.connected(log_in.of_dsn(text))[0].close()


def by_up(text: str, kept: Path) -> None:
    find_password(OutsideDatabase.of(text, database="postgres"), "postgres", kept)


def by_later_looks(text: str, kept: Path) -> None:
    """As status, reconcile, re-snapshot and page do: they take the login from the record of `up`."""
    record = RecordFile(kept.parent)
    record.write(PlatformOptions(outside=OutsideDatabase.of(text, database="postgres")), {}, frozenset())
    recorded = record.read().outside
    assert recorded is not None
    login = {**recorded.parameters("postgres"), "password": os.environ["PGPASSWORD"]}
    SourceDatabase(login).wal_position()


@pytest.mark.parametrize("log_in", [by_dsn, by_up, by_later_looks])
@pytest.mark.parametrize("mode", ["", " sslmode=require", " sslmode=verify-full"])
def test_each_command_takes_the_right_server_and_no_other(
    log_in: Callable[[str, Path], None],
    mode: str,
    postgres: Postgres,
    authority: Authority,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "root.pem").write_text(authority.root)
    monkeypatch.setattr(rds_ca, "BUNDLE", tmp_path / "root.pem")
    monkeypatch.setattr(rds_ca, "is_rds", lambda host: host == "localhost")
    parameters = postgres.connection_parameters()
    monkeypatch.setenv("PGPASSWORD", parameters["password"])
    certificates = {
        "": authority.server("localhost", tmp_path),
        "certificate verify failed": Authority("Another").server("localhost", tmp_path),
        "does not match host name": authority.server("other", tmp_path),
    }
    for reason, certificate in certificates.items():
        refused = contextlib.nullcontext() if not reason else pytest.raises(REFUSALS, match=reason)
        with encrypted(postgres.port, certificate) as port, refused:
            log_in(f"host=localhost port={port} user=postgres dbname=postgres{mode}", tmp_path / "kept")
    with pytest.raises(REFUSALS, match="server does not support SSL"):
        log_in(f"host=localhost port={postgres.port} user=postgres dbname=postgres{mode}", tmp_path / "kept")


def test_the_users_own_authority_counts(
    server: Parameters, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.pem").write_text(authority.root)
    monkeypatch.setenv("PGSSLROOTCERT", str(tmp_path / "own.pem"))
    connect(server).close()
