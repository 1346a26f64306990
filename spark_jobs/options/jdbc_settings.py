"""Decides what JdbcSource reads, from which database, and how it finds changes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

from contract.events import LSN, READ_MS
from contract.secret_names import is_secret
from contract.table_names import table_of_text
from spark_jobs.errors import SettingsError
from spark_jobs.options import keys
from spark_jobs.options.command_line import Options
from spark_jobs.options.properties import (
    DAY_S,
    Number,
    combine,
    declare,
    declared_in,
    number,
    parse_overrides,
    read,
)

DRIVER = "org.postgresql.Driver"
_SCHEME = "jdbc:postgresql://"
_DEFAULT_SCHEMA = "public"
# Spark's own name for the fetch size, which HoodieStreamer passes through.
_FETCH_SIZE = f"{keys.JDBC_EXTRA}fetchsize"


class Detection(StrEnum):
    """How changed rows are detected (docs/decisions/0090)."""

    AUTO = "auto"
    XMIN = "xmin"
    COLUMN = "column"
    HASH = "hash"


@dataclass(frozen=True, kw_only=True)
class Password:
    """Where the password is: at most one of these. Each connection reads it again."""

    given: str | None = declare(keys.JDBC_PASSWORD, hidden=True)
    file: str | None = declare(keys.JDBC_PASSWORD_FILE)
    secret: str | None = declare(keys.JDBC_PASSWORD_SECRET)
    variable: str | None = declare(keys.JDBC_PASSWORD_VARIABLE)


@dataclass(frozen=True, kw_only=True)
class Server:
    """A database with the job's user; tables with the same settings share connections."""

    url: str = declare(keys.JDBC_URL, needed_by="JdbcSource")
    user: str | None = declare(keys.JDBC_USER)
    password: Password
    ca_file: str | None = declare(keys.JDBC_CA_FILE)
    connections: int = number(f"{keys.JDBC_PREFIX}connections", 2, 1, 100)
    statement_seconds: float = number(f"{keys.JDBC_PREFIX}statement.timeout.seconds", 600, 1, DAY_S, whole=False)
    # The driver's own settings, by its names.
    extra: tuple[tuple[str, str], ...] = field(repr=False)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts in the URL: one, or several separated by commas."""
        named = _parts(self.url).netloc.split(",")
        return tuple(re.sub(r":\d*\Z", "", host).strip("[]").lower() for host in named)

    @property
    def ssl(self) -> dict[str, str]:
        """The driver's TLS settings; the URL's have precedence."""
        given = {**dict(self.extra), **_query(self.url)}
        return {name: value for name, value in given.items() if name.startswith("ssl")}

    @property
    def database(self) -> str:
        return _parts(self.url).path.lstrip("/")


@dataclass(frozen=True, kw_only=True)
class JdbcSettings:
    """A table, view or query to read, at most `max_rows` rows per commit."""

    server: Server
    schema: str
    table: str = declare(keys.JDBC_TABLE, needed_by="JdbcSource")
    query: str | None = declare(keys.JDBC_QUERY)
    detection: Detection = declare(keys.JDBC_DETECTION, default=Detection.AUTO, words=tuple(Detection))  # noqa: RUF009  (a field)
    column: str | None = declare(keys.JDBC_COLUMN)
    left_out: tuple[str, ...] = declare(keys.JDBC_LEFT_OUT, default=())
    margin_seconds: float = number(keys.JDBC_MARGIN, 1, 0, DAY_S, whole=False)
    sweep_seconds: float = number(keys.JDBC_SWEEP, 5, 0, DAY_S, whole=False)
    deletes_percent: float = number(keys.JDBC_DELETES_PERCENT, 10, 0, 100, whole=False)
    max_rows: int = number(f"{keys.JDBC_PREFIX}max.rows", 1_000_000, 1, 1_000_000_000)
    fetch_size: int = declare(
        *(f"{keys.JDBC_PREFIX}fetch.size", _FETCH_SIZE), default=10_000, number=Number(1, 1_000_000)
    )
    readers: int = number(f"{keys.JDBC_PREFIX}readers", 4, 1, 100)
    looked_file: str | None = declare(keys.JDBC_LOOKED_FILE)

    @property
    def name(self) -> str:
        return f"{self.schema}.{self.table}" if self.query is None else f"the query of {self.table}"


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """A property with a single allowed value, or without use (refused.tsv)."""

    driver: str = declare(f"{keys.JDBC_PREFIX}driver.class", default=DRIVER, words=(DRIVER,))
    incremental: str | None = declare(keys.JDBC_INCREMENTAL)
    fallback: str | None = declare(keys.JDBC_FALLBACK)
    storage_level: str | None = declare(f"{keys.JDBC_PREFIX}storage.level")


def jdbc_settings(options: Options, properties: Mapping[str, str]) -> JdbcSettings:
    """Return JdbcSource's settings. Raises SettingsError."""
    read(Accepted, properties)
    if properties.get(keys.APPEND_ONLY, "false").lower() != "false":
        raise SettingsError(f"{keys.APPEND_ONLY}=true isn't possible with JdbcSource, which tells rows by their key")
    if options.ordering_field != READ_MS:
        raise SettingsError(
            f"--source-ordering-field {options.ordering_field}: JdbcSource orders rows by {READ_MS}, when they were "
            "read; a column of theirs may go back"
        )
    limit = {"max_rows": options.source_limit} if options.source_limit else {}
    made = read(JdbcSettings, properties, **_place(options, properties), **limit)
    if made.detection is Detection.COLUMN and made.column is None:
        raise SettingsError(f"{keys.JDBC_COLUMN} is missing: {keys.JDBC_DETECTION}=column needs it")
    return made


@dataclass(frozen=True, kw_only=True)
class CatalogueSettings:
    """The table that supplies new columns' types; without one they must come from the schema file."""

    server: Server | None
    schema: str = ""
    table: str = ""
    types: str = declare(
        keys.NEW_COLUMN_TYPES, default=keys.TYPES_GUESSED, words=(keys.TYPES_GUESSED, keys.TYPES_OF_SOURCE)
    )


def catalogue_settings(options: Options, properties: Mapping[str, str]) -> CatalogueSettings | None:
    """Return where to look up the types of new columns; None if they are guessed. Raises SettingsError."""
    types = declared_in(CatalogueSettings)[keys.NEW_COLUMN_TYPES].read(properties)
    if types == keys.TYPES_GUESSED:
        return None
    if keys.JDBC_URL not in properties:
        return CatalogueSettings(server=None, types=types)
    return CatalogueSettings(**_place(options, properties), types=types)


@dataclass(frozen=True, kw_only=True)
class FirstLoadSettings:
    """A captured table whose rows are read from the database before its events, and the connector that sends these.

    `after_snapshot`: the connector reads other tables' rows first. `hashed`: columns that it sends as SHA-256, with the
    salt in a file or a secret; each load reads it again.
    """

    jdbc: JdbcSettings
    slot: str = declare(keys.FIRST_LOAD_SLOT)
    publication: str = declare(keys.FIRST_LOAD_PUBLICATION, needed_by=keys.FIRST_LOAD_SLOT)
    after_snapshot: bool = declare(keys.FIRST_LOAD_AFTER, default=False)
    hashed: tuple[str, ...] = declare(keys.FIRST_LOAD_HASHED, default=())
    salt_file: str | None = declare(keys.FIRST_LOAD_SALT_FILE)
    salt_secret: str | None = declare(keys.FIRST_LOAD_SALT_SECRET)


def first_load_settings(options: Options, properties: Mapping[str, str]) -> FirstLoadSettings | None:
    """Return where to read a table's rows at first; None if events bring them. Raises SettingsError."""
    given = declared_in(FirstLoadSettings).keys() & properties.keys()
    if not given:
        return None
    if not properties.get(keys.FIRST_LOAD_SLOT):
        raise SettingsError(f"{min(given)} needs {keys.FIRST_LOAD_SLOT}")
    if options.ordering_field != LSN and properties.get(keys.APPEND_ONLY, "false").lower() == "false":
        raise SettingsError(
            f"--source-ordering-field {options.ordering_field}: {keys.FIRST_LOAD_SLOT} needs {LSN}, by which rows that "
            "were read come before each event that follows them"
        )
    return read(FirstLoadSettings, properties, jdbc=read(JdbcSettings, properties, **_place(options, properties)))


def refuse_secrets_in_arguments(options: Options) -> None:
    """Other users who may list processes can read a command line, and EMR shows it on its pages."""
    for key, value in combine([], parse_overrides(options.hoodie_conf)).items():
        # A login to Kafka begins with its module's name, and may have no more.
        told = value if key.endswith(".jaas.config") else key.removesuffix(".token.endpoint.url")
        says_where = key.startswith(f"{keys.JDBC_PASSWORD}.") or key == keys.FIRST_LOAD_SALT_SECRET
        if is_secret(told) and not says_where:
            raise SettingsError(
                f"--hoodie-conf {key}: a secret has no place on a command line; say {keys.JDBC_PASSWORD_FILE}, "
                f"{keys.JDBC_PASSWORD_SECRET} or {keys.JDBC_PASSWORD_VARIABLE}, or write it into the --props file"
            )


def _place(options: Options, properties: Mapping[str, str]) -> dict[str, Any]:
    """Return the server, and the schema and table in it. Raises SettingsError."""
    given = [key for key in declared_in(Password) if key in properties]
    if len(given) > 1:
        raise SettingsError(f"{' and '.join(given)}: say one of them")
    password = read(Password, properties)
    server = read(Server, properties, url=_url(properties), password=password, extra=_extra(properties))
    if keys.JDBC_QUERY not in properties:
        schema, table = table_of_text(declared_in(JdbcSettings)[keys.JDBC_TABLE].read(properties))
        return {"server": server, "schema": schema or _DEFAULT_SCHEMA, "table": table}
    if keys.JDBC_TABLE in properties:
        raise SettingsError(f"{keys.JDBC_TABLE} and {keys.JDBC_QUERY}: say one of them")
    return {"server": server, "schema": "", "table": options.target_table.rpartition(".")[2]}


def _url(properties: Mapping[str, str]) -> str:
    url = str(declared_in(Server)[keys.JDBC_URL].read(properties))
    parts = _parts(url)
    if not url.startswith(_SCHEME) or not parts.netloc or not parts.path.strip("/"):
        # Not the URL itself: it may contain a password.
        raise SettingsError(f"{keys.JDBC_URL}: write it as {_SCHEME}host:port/database")
    named = _query(url)
    if "@" in parts.netloc or any(map(is_secret, named)):
        raise SettingsError(
            f"{keys.JDBC_URL}: a URL is shown in logs, so it can't have a password; say {keys.JDBC_USER} and "
            f"{keys.JDBC_PASSWORD_FILE} or {keys.JDBC_PASSWORD_SECRET}"
        )
    for name in named:
        if reason := keys.refused("driver").get(name):
            raise SettingsError(f"{keys.JDBC_URL}: ?{name}= isn't supported: {reason}")
    return url


def _parts(url: str) -> SplitResult:
    try:
        return urlsplit(url.removeprefix("jdbc:"))
    except ValueError:  # half a pair of brackets, or signs that no host has
        return urlsplit("")


def _query(url: str) -> dict[str, str]:
    return dict(parse_qsl(_parts(url).query, keep_blank_values=True))


def _extra(properties: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    given = sorted(key for key in properties if key.startswith(keys.JDBC_EXTRA) and key != _FETCH_SIZE)
    extra = {key.removeprefix(keys.JDBC_EXTRA): properties[key] for key in given}
    refused = {**keys.refused("spark"), **keys.refused("driver")}
    for name in extra:
        if name in refused:
            raise SettingsError(f"{keys.JDBC_EXTRA}{name} isn't supported: {refused[name]}")
        if name in ("user", "password"):
            raise SettingsError(f"{keys.JDBC_EXTRA}{name}: say {keys.JDBC_PREFIX}{name}")
    return tuple(extra.items())
