from pathlib import Path

import pytest

from db import log_in
from db.errors import LoadError

SECRET = "hunter2"


@pytest.fixture(autouse=True)
def no_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGSERVICE", "PGSSLROOTCERT"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    "text", ["postgresql://me@db.example.com:5433/shop", "host=db.example.com port=5433 user=me dbname=shop"]
)
def test_a_dsn_is_a_url_or_words(text: str) -> None:
    assert log_in.of_dsn(text) == {"host": "db.example.com", "port": "5433", "user": "me", "dbname": "shop"}


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
        ("host=db replication=database", "DSN asks for a replication connection"),
    ],
)
def test_a_dsn_that_is_refused_is_one_line_without_what_it_may_hide(text: str, reason: str) -> None:
    with pytest.raises(LoadError) as raised:
        log_in.of_dsn(text)
    assert str(raised.value).startswith(reason)
    assert SECRET not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_tls_may_be_off_on_this_machine() -> None:
    assert log_in.of_dsn("host=127.0.0.1 sslmode=disable")["sslmode"] == "disable"


def test_a_host_that_the_environment_names_counts_as_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "db.example.com")
    assert log_in.of_dsn("dbname=shop") == {"host": "db.example.com", "dbname": "shop"}
    with pytest.raises(LoadError, match="over TLS"):
        log_in.of_dsn("dbname=shop sslmode=allow")


def test_a_service_is_looked_up_since_its_host_decides_how_it_is_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    (tmp_path / "services").write_text("# ours\n[shop]\nhost=db.example.com\nsslmode=verify-full\nport=5433\n")
    expected = {"host": "db.example.com", "sslmode": "verify-full", "port": "5433", "dbname": "crm"}
    assert log_in.of_dsn("service=shop dbname=crm") == expected
    monkeypatch.setenv("PGSERVICE", "shop")
    assert log_in.of_dsn("dbname=crm") == expected
    with pytest.raises(LoadError, match=r"service=other, which isn't in .*services or "):
        log_in.of_dsn("service=other")
