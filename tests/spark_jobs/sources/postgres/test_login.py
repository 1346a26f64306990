"""Connections: TLS in full by default, a server really verified, secrets' places; the shape of the control query."""

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from moto import mock_aws
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from contract import rds_ca
from local.services.postgres import ConnectionParameters
from spark_jobs.errors import SettingsError, first_line
from spark_jobs.options.jdbc_settings import Password, Server
from spark_jobs.sources.postgres.access import Database, connection_properties, tls_properties, unverified
from spark_jobs.sources.postgres.control import IDENTITIES, read_control
from tests.conftest import ask, execute
from tests.spark_jobs.options.test_jdbc_settings import decided
from tests.spark_jobs.sources.postgres.conftest import server_of
from tests.tls import Authority, encrypted

AURORA = "db.cluster-x.eu-central-1.rds.amazonaws.com"
ONE, TWO = (pem for _, pem in zip(range(2), rds_ca.roots().values(), strict=False))
RENAME = "ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'"


def server(host: str, query: str = "", **changes: Any) -> Server:
    given = {"url": f"jdbc:postgresql://{host}/pagila{query}", "password": Password(), **changes}
    return dataclasses.replace(decided().server, **given)


def no_file(path: str) -> str:
    raise AssertionError(path)


def test_rds_is_verified_by_its_regions_root() -> None:
    found = tls_properties(server(f"{AURORA}:5432"), no_file)
    assert (found["sslmode"], found["sslfactoryarg"]) == ("verify-full", rds_ca.root("eu-central-1"))
    with pytest.raises(SettingsError, match="no root certificate"):
        tls_properties(server(AURORA.replace("eu-central-1", "xx-moon-1")), no_file)


def test_a_file_with_one_certificate_travels_and_one_with_several_is_named() -> None:
    found = tls_properties(server("db.example.com", ca_file="s3://b/ca.pem"), {"s3://b/ca.pem": ONE}.__getitem__)
    assert (found["sslmode"], found["sslfactoryarg"]) == ("verify-full", ONE.strip())
    several = {"file:///etc/ca.pem": ONE + TWO}
    found = tls_properties(server("127.0.0.1", ca_file="file:///etc/ca.pem"), several.__getitem__)
    assert found == {"sslmode": "verify-full", "sslrootcert": "/etc/ca.pem"}
    with pytest.raises(SettingsError, match=r"ca.file=ca.pem: no certificate \(PEM\) is in it"):
        tls_properties(server("db", ca_file="ca.pem"), lambda _path: "nothing")


JAVAS = {"sslmode": "verify-full", "sslfactory": "org.postgresql.ssl.DefaultJavaSSLFactory"}


@pytest.mark.parametrize(
    ("host", "query", "extra", "expected"),
    [
        # On this machine there is no TLS.
        *((host, "", {}, {}) for host in ("127.0.0.1:5432", "localhost", "[::1]:5432", "localhost:1,127.0.0.1:2")),
        ("localhost", "?sslResponseTimeout=9", {}, {}),
        # Elsewhere the server is verified by what Java trusts; only sslmode itself allows an unverified one.
        *((host, "", {}, JAVAS) for host in ("db.example.com:5432", "10.0.0.1", "localhost,db.example.com")),
        ("db", "?ssl=false", {}, JAVAS),
        ("db", "?sslResponseTimeout=9", {"ssl": "false", "sslNegotiation": "direct"}, JAVAS),
        ("db", "?sslMode=disable", {}, JAVAS),
        ("db", "", {"sslpassword": "p"}, JAVAS),
        ("db", "", {"sslcert": "/c", "sslkey": "/k"}, {"sslmode": "verify-full"}),
        ("db", "", {"sslrootcert": "/ca.pem"}, {"sslmode": "verify-full"}),
        ("localhost", "", {"sslrootcert": "/ca.pem"}, {"sslmode": "verify-full"}),
        ("db", "?sslmode=VERIFY-CA", {}, JAVAS | {"sslmode": "VERIFY-CA"}),
        ("db", "?sslmode=require", {}, {"sslmode": "require"}),
        ("db", "", {"sslmode": "require", "sslrootcert": "/ca.pem"}, {"sslmode": "require"}),
        # The driver prefers the URL's.
        ("db", "?sslmode=require", {"sslmode": "verify-full"}, {"sslmode": "require"}),
        ("db", "?sslmode=verify-full", {"sslmode": "require"}, JAVAS),
    ],
)
def test_nothing_but_sslmode_says_that_a_server_isnt_verified(
    host: str, query: str, extra: dict[str, str], expected: dict[str, str]
) -> None:
    assert tls_properties(server(host, query, extra=tuple(extra.items())), no_file) == expected


def test_a_weak_mode_is_told() -> None:
    line = "sslmode=require: anybody between here and db.example.com can be that server; verify-full can't"
    strict = (("sslmode", "verify-full"),)
    assert unverified(server("db.example.com", "?sslmode=require", extra=strict)) == line
    assert unverified(server("db.example.com", extra=strict)) is None
    assert unverified(server("localhost", "?sslmode=disable")) is None


def test_a_password_is_read_from_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGILA", "of the environment")
    places = {
        "given": Password(given="of the properties"),
        "of a file": Password(file="s3://b/password"),
        "of the environment": Password(variable="PAGILA"),
    }
    read = {"s3://b/password": "of a file\n"}.__getitem__
    found = [connection_properties(server("localhost", password=place), read)["password"] for place in places.values()]
    assert found == ["of the properties", "of a file", "of the environment"]
    assert "password" not in connection_properties(server("localhost"), read)
    with pytest.raises(SettingsError, match="the environment has no such variable"):
        connection_properties(server("localhost", password=Password(variable="NO_SUCH")), read)


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], list[str]]]:
    """Puts a text into Secrets Manager, in the job's region and in another one; returns a name, and an ARN."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")

    def create(text: str) -> list[str]:
        here, there = (boto3.client("secretsmanager", region_name=name) for name in ("us-east-1", "eu-central-1"))
        here.create_secret(Name="here", SecretString=text)
        return ["here", there.create_secret(Name="there", SecretString=text)["ARN"]]

    with mock_aws():
        yield create


@pytest.mark.parametrize(
    ("text", "user", "expected"),
    [
        (json.dumps({"username": "u", "password": "p"}), None, ("u", "p")),
        (json.dumps({"username": "u", "password": "p"}), "reader", ("reader", "p")),
        ("a text alone", "reader", ("reader", "a text alone")),
        ("12345", "reader", ("reader", "12345")),
    ],
)
def test_a_secret_is_json_or_a_password(
    put: Callable[[str], list[str]], text: str, user: str | None, expected: tuple[str, str]
) -> None:
    for name in put(text):
        found = connection_properties(server("localhost", user=user, password=Password(secret=name)), no_file)
        assert (found["user"], found["password"]) == expected


@pytest.mark.usefixtures("put")
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none", {"SecretString": '{"username": "u"}'}, "the secret has no `password`"),
        ("null", {"SecretString": '{"password": null}'}, "the secret has no `password`"),
        ("bytes", {"SecretBinary": b"p"}, "the secret bytes is binary: store a text, or JSON"),
        ("arn:aws:rds", {"SecretString": "p"}, "arn:aws:rds isn't a secret's ARN"),
    ],
)
def test_a_secret_without_a_password_is_refused(name: str, content: dict[str, Any], said: str) -> None:
    boto3.client("secretsmanager").create_secret(Name=name.replace(":", "_"), **content)
    with pytest.raises(SettingsError, match=said):
        connection_properties(server("localhost", password=Password(secret=name)), no_file)


def test_secrets_are_in_no_text_of_the_settings() -> None:
    extra = (("sslpassword", "hush"),)
    assert "hush" not in repr(server("localhost", password=Password(given="hush"), extra=extra))


def asked(spark: SparkSession, port: int, parameters: ConnectionParameters, **changes: Any) -> str | None:
    there = dataclasses.replace(server_of(parameters | {"port": port, "host": "localhost"}), **changes)
    with contextlib.closing(Database(spark, there, log=lambda _line: None).look()) as look:
        return look.text("SELECT 'there'")


@pytest.mark.integration
def test_a_server_is_verified_by_certificate_and_name(
    spark: SparkSession, database: ConnectionParameters, tmp_path: Path
) -> None:
    ours, others = Authority("ours"), Authority("others")
    for name, authority in {"ours": ours, "others": others}.items():
        (tmp_path / f"{name}.pem").write_text(authority.root)
    (tmp_path / "both.pem").write_text(others.root + ours.root)
    with encrypted(database["port"], ours.server("localhost", tmp_path)) as port:
        assert asked(spark, port, database, ca_file=str(tmp_path / "ours.pem")) == "there"
        assert asked(spark, port, database, ca_file=str(tmp_path / "both.pem")) == "there"
        assert asked(spark, port, database, extra=(("sslmode", "require"),)) == "there"
        for extra in ((), (("ssl", "false"),), (("sslResponseTimeout", "9000"),), (("sslmode", "verify-full"),)):
            with pytest.raises(Py4JJavaError) as raised:
                asked(spark, port, database, ca_file=str(tmp_path / "others.pem"), extra=extra)
            assert "PKIX path" in first_line(raised.value) or "certificat" in first_line(raised.value).lower()
    with encrypted(database["port"], ours.server("other.example.com", tmp_path)) as port:
        with pytest.raises(Py4JJavaError) as raised:
            asked(spark, port, database, ca_file=str(tmp_path / "ours.pem"))
        assert "could not be verified by hostnameverifier" in first_line(raised.value).lower()
    with pytest.raises(Py4JJavaError) as raised:
        asked(spark, database["port"], database, ca_file=str(tmp_path / "ours.pem"), extra=(("ssl", "false"),))
    assert "does not support ssl" in first_line(raised.value).lower()


def shape(parameters: ConnectionParameters, *, virtual: str = "v") -> str:
    settings: Any = SimpleNamespace(schema="public", table="t", query=None, name="public.t")
    look: Any = SimpleNamespace(before=None, text=lambda query: ask(parameters, query.replace("'v'", f"'{virtual}'")))
    return read_control(look, settings, IDENTITIES[0]).shape


# Types, a column's type that is made of them, and a change of a part.
PARTS = (
    ("", "mood", RENAME),
    ("", "mood[]", RENAME),
    ("CREATE DOMAIN d AS mood", "d", RENAME),
    ("CREATE DOMAIN d AS mood", "d[]", RENAME),
    ("CREATE DOMAIN d AS mood[]", "d", RENAME),
    ("CREATE DOMAIN d AS mood; CREATE DOMAIN e AS d", "e", RENAME),
    ("CREATE TYPE c AS (m mood)", "c", RENAME),
    ("CREATE TYPE c AS (m mood); CREATE TYPE e AS (c c[])", "e[]", RENAME),
    ("CREATE TYPE r AS RANGE (subtype = mood)", "r", RENAME),
    ("CREATE TYPE r AS RANGE (subtype = mood, multirange_type_name = m)", "m[]", RENAME),
    ("CREATE TYPE c AS (m mood); CREATE TYPE e AS (c c)", "e", "ALTER TYPE c ADD ATTRIBUTE b int"),
    ("CREATE TABLE other (m mood)", "other", RENAME),
)


@pytest.mark.integration
def test_a_type_that_a_columns_is_made_of_is_part_of_the_shape(database: ConnectionParameters) -> None:
    for types, column, change in PARTS:
        execute(database, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        execute(database, f"CREATE TYPE mood AS ENUM ('ok', 'sad'); {types}")
        execute(database, f"CREATE TABLE t (id int PRIMARY KEY, value {column})")
        before = shape(database)
        execute(database, "ALTER TYPE mood ADD VALUE 'glad'")
        added = shape(database)
        execute(database, change)
        assert len({before, added, shape(database)}) == 3, column
        assert shape(database) == shape(database)


@pytest.mark.integration
def test_a_virtual_columns_expression_is_part_of_the_shape(database: ConnectionParameters) -> None:
    """Only PostgreSQL 18 has one; a stored one, whose rows a new expression rewrites, stands in for it."""
    found = list[tuple[str, str]]()
    for factor in (2, 3):
        execute(database, f"CREATE TABLE t (id int PRIMARY KEY, value int GENERATED ALWAYS AS (id * {factor}) STORED)")
        found.append((shape(database), shape(database, virtual="s")))
        execute(database, "DROP TABLE t")
    (stored, virtual), (same, other) = found
    assert stored == same
    assert virtual != other
