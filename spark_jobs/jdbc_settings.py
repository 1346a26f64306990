"""Decides what JdbcSource reads, from which database, and how changes are found."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import parse_qsl, urlsplit

from contract.events import READ_MS
from contract.secret_names import is_secret
from spark_jobs import keys
from spark_jobs.errors import SettingsError
from spark_jobs.options import Options
from spark_jobs.properties import OLD_PREFIX, PREFIX, parse_overrides
from spark_jobs.property_values import fields, flag, number, required

DRIVER = "org.postgresql.Driver"
_SCHEME = "jdbc:postgresql://"
_DEFAULT_SCHEMA = "public"
# What Spark's reader takes; this job reads in its own parts, by its own snapshot.
_SPARKS_OWN = (
    *("dbtable", "query", "partitionColumn", "lowerBound", "upperBound", "numPartitions", "queryTimeout", "driver"),
    *("sessionInitStatement", "preferTimestampNTZ", "customSchema", "pushDownPredicate", "connectionProvider"),
)
_FETCH_SIZE = "fetchsize"
_CLASS = f"no other class verifies the server than ours: say {keys.JDBC_CA_FILE}, or how strictly by sslmode"
_PLACE = f"{keys.JDBC_URL} alone says which server and database: write them in front of its question mark"
# Of the driver's own settings, whether in the URL or given by themselves.
_REFUSED = {
    **dict.fromkeys(("sslfactory", "sslfactoryarg", "sslhostnameverifier"), _CLASS),
    **dict.fromkeys(("host", "port", "dbname", "PGHOST", "PGPORT", "PGDBNAME", "service"), _PLACE),
}
_NOT_USED = {
    keys.JDBC_INCREMENTAL: "changes are always found, and only they are written",
    keys.JDBC_FALLBACK: "everything is read anew where changes can't be told, and nowhere else",
    keys.JDBC_STORAGE_LEVEL: "a batch is kept in memory, and on disk where that lacks",
}


class Detection(Enum):
    """How the rows that changed are told from the others (docs/decisions/0090)."""

    AUTO = "auto"
    XMIN = "xmin"
    COLUMN = "column"
    HASH = "hash"


@dataclass(frozen=True, kw_only=True)
class Password:
    """Where the password is: at most one of these; it is read anew at each connection."""

    given: str | None = field(default=None, repr=False)
    file: str | None = None
    secret: str | None = None
    variable: str | None = None


@dataclass(frozen=True, kw_only=True)
class Server:
    """A database, and as whom the job reads it; tables with the same share their connections."""

    url: str
    user: str | None
    password: Password
    ca_file: str | None
    connections: int
    statement_seconds: float
    # The driver's own settings, by its names.
    extra: tuple[tuple[str, str], ...]

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts in the URL: one, or several by comma."""
        named = urlsplit(self.url.removeprefix("jdbc:")).netloc.split(",")
        return tuple(re.sub(r":\d*\Z", "", host).strip("[]").lower() for host in named)

    @property
    def ssl(self) -> dict[str, str]:
        """The driver's settings of TLS; it takes the URL's before others."""
        given = {**dict(self.extra), **_query(self.url)}
        return {name: value for name, value in given.items() if name.startswith("ssl")}

    @property
    def database(self) -> str:
        """The database's name in the URL."""
        return urlsplit(self.url.removeprefix("jdbc:")).path.lstrip("/")


@dataclass(frozen=True, kw_only=True)
class JdbcSettings:
    """A table, view or query to look at; `max_rows` of it go into one commit."""

    server: Server
    schema: str
    table: str
    query: str | None
    detection: Detection
    column: str | None
    left_out: tuple[str, ...]
    margin_seconds: float
    sweep_seconds: float
    deletes_percent: float
    max_rows: int
    fetch_size: int
    readers: int
    looked_file: str | None = None

    @property
    def name(self) -> str:
        """What lines of the log call it."""
        return f"{self.schema}.{self.table}" if self.query is None else f"the query of {self.table}"


def jdbc_settings(options: Options, properties: Mapping[str, str], warn: Callable[[str], None]) -> JdbcSettings:
    """Return the settings of JdbcSource; `warn` gets a line for each property that has no use.

    Raises SettingsError, naming the key.
    """
    _refuse_secrets_in_arguments(options)
    _refuse_others(options, properties)
    for key, reason in _NOT_USED.items():
        if key in properties:
            warn(f"{key} is not used: {reason}")
    schema, table = _table(options, properties)
    return JdbcSettings(
        server=_server(properties),
        schema=schema,
        table=table,
        query=properties.get(keys.JDBC_QUERY),
        detection=_detection(properties),
        column=properties.get(keys.JDBC_COLUMN),
        left_out=fields(properties.get(keys.JDBC_LEFT_OUT, "")),
        margin_seconds=number(properties, keys.JDBC_MARGIN),
        sweep_seconds=number(properties, keys.JDBC_SWEEP),
        deletes_percent=number(properties, keys.JDBC_DELETES_PERCENT),
        max_rows=options.source_limit or int(number(properties, keys.JDBC_MAX_ROWS)),
        fetch_size=_fetch_size(properties),
        readers=int(number(properties, keys.JDBC_READERS)),
        looked_file=properties.get(keys.JDBC_LOOKED_FILE),
    )


@dataclass(frozen=True, kw_only=True)
class CatalogueSettings:
    """The table whose new columns' types are asked, and where; nowhere: they are awaited from the schema file."""

    server: Server | None
    schema: str = ""
    table: str = ""


def catalogue_settings(options: Options, properties: Mapping[str, str]) -> CatalogueSettings | None:
    """Return where the types of new columns are asked; None where they are guessed. Raises SettingsError."""
    given = properties.get(keys.NEW_COLUMN_TYPES, keys.TYPES_GUESSED)
    if given not in (keys.TYPES_GUESSED, keys.TYPES_OF_SOURCE):
        raise SettingsError(f"{keys.NEW_COLUMN_TYPES}={given}: say {keys.TYPES_GUESSED} or {keys.TYPES_OF_SOURCE}")
    if given == keys.TYPES_GUESSED:
        return None
    if keys.JDBC_URL not in properties:
        return CatalogueSettings(server=None)
    _refuse_secrets_in_arguments(options)
    schema, table = _table(options, properties)
    return CatalogueSettings(server=_server(properties), schema=schema, table=table)


def _refuse_secrets_in_arguments(options: Options) -> None:
    """Whoever may list processes reads a command line; EMR shows it on its pages, too."""
    for key, _ in parse_overrides(options.hoodie_conf):
        name = PREFIX + key.removeprefix(OLD_PREFIX) if key.startswith(OLD_PREFIX) else key
        extra = name.startswith(keys.JDBC_EXTRA) and is_secret(name)
        if name == keys.JDBC_PASSWORD or extra:
            raise SettingsError(
                f"--hoodie-conf {key}: a secret has no place on a command line; say {keys.JDBC_PASSWORD_FILE}, "
                f"{keys.JDBC_PASSWORD_SECRET} or {keys.JDBC_PASSWORD_VARIABLE}"
            )


def _refuse_others(options: Options, properties: Mapping[str, str]) -> None:
    driver = properties.get(keys.JDBC_DRIVER, DRIVER)
    if driver != DRIVER:
        raise SettingsError(f"{keys.JDBC_DRIVER}={driver} isn't supported: only PostgreSQL's, {DRIVER}")
    if flag(properties, keys.APPEND_ONLY):
        raise SettingsError(f"{keys.APPEND_ONLY}=true isn't possible with JdbcSource, which tells rows by their key")
    if options.ordering_field != READ_MS:
        raise SettingsError(
            f"--source-ordering-field {options.ordering_field}: JdbcSource orders rows by {READ_MS}, when they were "
            "read; a column of theirs may go back"
        )


def _server(properties: Mapping[str, str]) -> Server:
    extra = _extra(properties)
    return Server(
        url=_url(properties),
        user=properties.get(keys.JDBC_USER),
        password=_password(properties),
        ca_file=properties.get(keys.JDBC_CA_FILE),
        connections=int(number(properties, keys.JDBC_CONNECTIONS)),
        statement_seconds=number(properties, keys.JDBC_TIMEOUT),
        extra=tuple(sorted((key, value) for key, value in extra.items() if key != _FETCH_SIZE)),
    )


def _url(properties: Mapping[str, str]) -> str:
    url = required(properties, keys.JDBC_URL, "JdbcSource")
    parts = urlsplit(url.removeprefix("jdbc:"))
    if not url.startswith(_SCHEME) or not parts.netloc or not parts.path.strip("/"):
        # Not the URL itself: it may have a password in it.
        raise SettingsError(f"{keys.JDBC_URL}: write it as {_SCHEME}host:port/database")
    named = _query(url)
    if "@" in parts.netloc or any(map(is_secret, named)):
        raise SettingsError(
            f"{keys.JDBC_URL}: a URL is shown in logs, so it can't have a password; say {keys.JDBC_USER} and "
            f"{keys.JDBC_PASSWORD_FILE} or {keys.JDBC_PASSWORD_SECRET}"
        )
    for name in named:
        if name in _REFUSED:
            raise SettingsError(f"{keys.JDBC_URL}: ?{name}= isn't supported: {_REFUSED[name]}")
    return url


def _query(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url.removeprefix("jdbc:")).query, keep_blank_values=True))


def _password(properties: Mapping[str, str]) -> Password:
    places = (keys.JDBC_PASSWORD, keys.JDBC_PASSWORD_FILE, keys.JDBC_PASSWORD_SECRET, keys.JDBC_PASSWORD_VARIABLE)
    given = [key for key in places if key in properties]
    if len(given) > 1:
        raise SettingsError(f"{' and '.join(given)}: say one of them")
    value, file, secret, variable = (properties.get(key) for key in places)
    return Password(given=value, file=file, secret=secret, variable=variable)


def _table(options: Options, properties: Mapping[str, str]) -> tuple[str, str]:
    if keys.JDBC_QUERY in properties:
        if keys.JDBC_TABLE in properties:
            raise SettingsError(f"{keys.JDBC_TABLE} and {keys.JDBC_QUERY}: say one of them")
        return "", options.target_table.rpartition(".")[2]
    name = required(properties, keys.JDBC_TABLE, "JdbcSource")
    schema, _, table = name.rpartition(".")
    return schema or _DEFAULT_SCHEMA, table


def _detection(properties: Mapping[str, str]) -> Detection:
    text = properties.get(keys.JDBC_DETECTION, Detection.AUTO.value).lower()
    known = [detection.value for detection in Detection]
    if text not in known:
        raise SettingsError(f"{keys.JDBC_DETECTION}={text}: say {', '.join(known)}")
    found = Detection(text)
    if found is Detection.COLUMN and keys.JDBC_COLUMN not in properties:
        raise SettingsError(f"{keys.JDBC_COLUMN} is missing: {keys.JDBC_DETECTION}=column needs it")
    return found


def _extra(properties: Mapping[str, str]) -> dict[str, str]:
    extra = {k.removeprefix(keys.JDBC_EXTRA): v for k, v in properties.items() if k.startswith(keys.JDBC_EXTRA)}
    for name in extra:
        if name in _SPARKS_OWN:
            raise SettingsError(
                f"{keys.JDBC_EXTRA}{name} isn't supported: parts are read by the key, {keys.JDBC_READERS} at a time"
            )
        if name in _REFUSED:
            raise SettingsError(f"{keys.JDBC_EXTRA}{name} isn't supported: {_REFUSED[name]}")
        if name in ("user", "password"):
            raise SettingsError(f"{keys.JDBC_EXTRA}{name}: say {keys.JDBC_PREFIX}{name}")
    return extra


def _fetch_size(properties: Mapping[str, str]) -> int:
    sparks = f"{keys.JDBC_EXTRA}{_FETCH_SIZE}"
    given = sparks if sparks in properties else keys.JDBC_FETCH_SIZE
    return int(number(properties, given, like=keys.JDBC_FETCH_SIZE))
