"""The driver really verifies the server: by its certificate, by the certificate's name, and by nothing less."""

from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from local.services.postgres import ConnectionParameters
from spark_jobs.errors import first_line
from spark_jobs.options.jdbc_settings import Password, Server
from spark_jobs.sources.postgres.access import Database
from tests.tls import Authority, encrypted

pytestmark = pytest.mark.integration


def asked(spark: SparkSession, port: int, parameters: ConnectionParameters, **changes: Any) -> str | None:
    server = Server(
        url=f"jdbc:postgresql://localhost:{port}/{parameters['dbname']}",
        user=parameters["user"],
        password=Password(given=parameters["password"]),
        **{"ca_file": None, "connections": 1, "statement_seconds": 10, "extra": (), **changes},
    )
    database = Database(spark, server, log=lambda _line: None)
    look = database.look()
    try:
        return look.text("SELECT 'there'")
    finally:
        look.close()
        database.close()


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
        for extra in ((), (("ssl", "false"),), (("sslResponseTimeout", "9"),), (("sslmode", "verify-full"),)):
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
