"""A database that isn't ours: what of a DSN counts, and whose password."""

from pathlib import Path

import pytest

from db.errors import LoadError
from local.errors import PlatformError
from local.platform import outside
from local.platform.outside import OutsideDatabase, find_password

SHOP = OutsideDatabase(host="db.example.org", port=5433, dbname="shop", sslmode="require")


@pytest.mark.parametrize("dsn", ["postgresql://me@db.example.org:5433/shop", "host=db.example.org port=5433"])
def test_host_port_and_database_count_and_the_pipelines_database_where_none_is_named(dsn: str) -> None:
    assert OutsideDatabase.of(dsn, database="shop") == SHOP


def test_a_database_here_may_be_reached_in_plain_text() -> None:
    assert OutsideDatabase.of("host=127.0.0.1 dbname=x", database="shop").sslmode == "prefer"


@pytest.mark.parametrize(
    ("dsn", "message"),
    [
        ("host=a password=opensesame", "DSN has a password"),
        ("postgresql://me:opensesame@a/b", "DSN has a password"),
        ("dbname=x", "must name one host"),
        ("host=/var/run dbname=x", "must name one host"),
        ("host=a,b dbname=x", "must name one host"),
        ("host=a port=x", "port"),
    ],
)
def test_a_dsn_that_doesnt_do_is_one_line_without_a_password(
    dsn: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGHOST", raising=False)
    with pytest.raises(PlatformError, match=message) as refused:
        OutsideDatabase.of(dsn, database="shop")
    assert "opensesame" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_is_recorded_has_no_secret_and_is_read_back() -> None:
    record = SHOP.as_record()
    assert set(record) == {"host", "port", "dbname", "sslmode"}
    assert OutsideDatabase.recorded(record) == SHOP


def test_where_no_password_lets_the_role_in_the_last_reason_and_what_to_do_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CDC_CONNECTOR_PASSWORD", "opensesame")
    tried: list[str] = []

    def refuse(parameters: dict[str, str]) -> None:
        tried.append(str(parameters.get("password")))
        raise LoadError("cannot connect: password authentication failed")

    monkeypatch.setattr(outside, "connect", refuse)
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(PlatformError, match="give the role's password in CDC_CONNECTOR_PASSWORD") as refused:
        find_password(SHOP, "cdc_connector", tmp_path / "connector")
    assert tried[0] == "opensesame"
    assert "opensesame" not in str(refused.value)
    assert not (tmp_path / "connector").exists()
