"""JdbcSource's properties: HoodieStreamer's names, and one line for each mistake."""

import pytest

from contract.events import LSN, READ_MS
from spark_jobs.errors import SettingsError
from spark_jobs.options import command_line, keys, settings
from spark_jobs.options.jdbc_settings import Detection, JdbcSettings

GIVEN = {
    keys.RECORD_KEY: "address_id",
    keys.SCHEMA_FILE: "address.avsc",
    keys.JDBC_URL: "jdbc:postgresql://db.example.com:5432/pagila?ApplicationName=x",
    keys.JDBC_USER: "reader",
    keys.JDBC_PASSWORD_FILE: "/run/password",
    keys.JDBC_TABLE: "public.address",
}
FETCH_SIZE = f"{keys.JDBC_EXTRA}fetchsize"
ARGUMENTS = [
    *("--target-base-path", "/lake/address", "--target-table", "lake.address", "--table-type", "COPY_ON_WRITE"),
    *("--source-class", "org.apache.hudi.utilities.sources.JdbcSource"),
]


def decided(given: dict[str, str] | None = None, *arguments: str, log: list[str] | None = None) -> JdbcSettings:
    made = settings.decide(command_line.parse([*ARGUMENTS, *arguments]), GIVEN | (given or {}), (log or []).append)
    assert made.table.ordering_field == READ_MS
    assert isinstance(made.source, JdbcSettings)
    return made.source


def test_hoodie_streamers_names_do() -> None:
    made = decided({FETCH_SIZE: "50", f"{keys.JDBC_EXTRA}tcpKeepAlive": "false"})
    assert (made.schema, made.table, made.name) == ("public", "address", "public.address")
    assert (made.server.hosts, made.server.database) == (("db.example.com",), "pagila")
    assert made.server.password.file == "/run/password"
    assert (made.fetch_size, made.server.extra) == (50, (("tcpKeepAlive", "false"),))
    assert (made.detection, made.max_rows, made.deletes_percent) == (Detection.AUTO, 1_000_000, 10)
    assert decided({}, "--source-limit", "200").max_rows == 200
    assert decided({keys.JDBC_TABLE: "address"}).schema == "public"


def test_what_has_no_use_is_told() -> None:
    log: list[str] = ["first"]
    decided({keys.JDBC_INCREMENTAL: "true", keys.JDBC_FALLBACK: "true", keys.KAFKA_TOPIC: "t"}, log=log)
    assert log[1:] == [
        f"{keys.JDBC_INCREMENTAL} is not used: changes are always found, and only they are written",
        f"{keys.JDBC_FALLBACK} is not used: all is read again only where changes can't be detected",
        f"{keys.KAFKA_TOPIC} is not used: it has no meaning for JDBC",
    ]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({keys.JDBC_URL: "jdbc:mysql://h/d"}, "url: write it as jdbc:postgresql://host:port/database"),
        *(({keys.JDBC_URL: f"jdbc:postgresql://{rest}"}, "url: write it as") for rest in ("h", "[::1/d", "h℀/d")),
        ({keys.JDBC_URL: "jdbc:postgresql://h/d?password=hush"}, "url: a URL is shown in logs"),
        ({keys.JDBC_URL: "jdbc:postgresql://u:hush@h/d"}, "url: a URL is shown in logs"),
        ({keys.JDBC_URL: ""}, "url is missing: JdbcSource needs it"),
        ({keys.JDBC_TABLE: ""}, "table.name is missing: JdbcSource needs it"),
        ({keys.JDBC_QUERY: "SELECT 1"}, "table.name and .*query: say one of them"),
        ({keys.JDBC_PASSWORD: "hush"}, "password and .*password.file: say one of them"),
        ({f"{keys.JDBC_PREFIX}driver.class": "com.mysql.Driver"}, "class=com.mysql.Driver: say org.postgresql.Driver"),
        ({keys.JDBC_DETECTION: "stamp"}, "detection=stamp: say auto or xmin or column or hash"),
        ({keys.JDBC_DETECTION: "column"}, "table.incr.column.name is missing"),
        ({FETCH_SIZE: "many"}, "extra.options.fetchsize=many: say a whole number from 1 to 1,000,000"),
        ({FETCH_SIZE: "-5"}, "extra.options.fetchsize=-5: say a whole number from 1 to 1,000,000"),
        ({keys.APPEND_ONLY: "true", keys.RECORD_KEY: "__event_id"}, "append.only=true isn't possible with JdbcSource"),
        ({f"{keys.JDBC_EXTRA}partitionColumn": "id"}, "extra.options.partitionColumn isn't supported"),
        ({f"{keys.JDBC_EXTRA}sslfactory": "x.NonValidatingFactory"}, "sslfactory isn't supported: no other class"),
        ({f"{keys.JDBC_EXTRA}service": "shop"}, "extra.options.service isn't supported: .*jdbc.url alone says which"),
        ({keys.JDBC_URL: "jdbc:postgresql://localhost/pagila?host=db.example.com"}, r"\?host= isn't supported"),
        ({keys.JDBC_URL: "jdbc:postgresql://db/pagila?sslhostnameverifier=x"}, r"\?sslhostnameverifier= isn't supp"),
        ({f"{keys.JDBC_EXTRA}password": "hush"}, "extra.options.password: say hoodie.streamer.jdbc.password"),
        ({f"{keys.JDBC_PREFIX}tablename": "x"}, "jdbc.tablename: unknown property; did you mean"),
    ],
)
def test_a_mistake_is_one_line_without_the_secret(given: dict[str, str], reason: str) -> None:
    with pytest.raises(SettingsError, match=reason) as raised:
        decided(given)
    assert "hush" not in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        *(
            (("--hoodie-conf", f"{name}=hush"), r"has no place on a command line; say .*password\.file")
            for name in (
                *(keys.JDBC_PASSWORD, "hoodie.deltastreamer.jdbc.password", f"{keys.JDBC_EXTRA}sslpassword"),
                *("sasl.jaas.config=PlainLoginModule required password", "ssl.keystore.key", "hoodie.aws.secret.key"),
            )
        ),
        (("--source-ordering-field", LSN), f"--source-ordering-field {LSN}: JdbcSource orders rows by {READ_MS}"),
    ],
)
def test_a_secret_on_the_command_line_and_another_order_are_refused(arguments: tuple[str, str], reason: str) -> None:
    with pytest.raises(SettingsError, match=reason) as raised:
        decided({}, *arguments)
    assert "hush" not in str(raised.value)
