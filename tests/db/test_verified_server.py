"""Whose certificate a client takes for the source database's; an authority of our own is in the place of RDS's."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contract import rds_ca
from db.connecting import connect
from db.errors import LoadError, UnreachableError
from local.services.postgres import Postgres
from local.setup.ports import HOST
from tests.tls import Authority, encrypted

pytestmark = pytest.mark.integration

ENDPOINT = "dev-cdc-lake.cluster-abc.ap-southeast-2.rds.amazonaws.com"
Parameters = dict[str, Any]


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority("The test's RDS")


@pytest.fixture(scope="module")
def server(postgres: Postgres, authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parameters]:
    """How the server is reached: by its name, through a tunnel."""
    with encrypted(postgres.port, authority.server(ENDPOINT, tmp_path_factory.mktemp("tls"))) as port:
        yield {**postgres.connection_parameters(), "host": ENDPOINT, "hostaddr": HOST, "port": port}


@pytest.fixture
def trusted(authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's authority in the place of RDS's."""
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
    # Waiting doesn't help: nobody is asked to.
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


def test_the_users_own_authority_counts(
    server: Parameters, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.pem").write_text(authority.root)
    monkeypatch.setenv("PGSSLROOTCERT", str(tmp_path / "own.pem"))
    connect(server).close()
