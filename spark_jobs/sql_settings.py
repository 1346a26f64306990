"""Decides what a derived table is made of: a query, and the lake's tables that it names."""

from collections.abc import Mapping
from dataclasses import dataclass

from contract.events import READ_MS
from spark_jobs import keys
from spark_jobs.errors import SettingsError
from spark_jobs.options import Options
from spark_jobs.property_values import required


@dataclass(frozen=True, kw_only=True)
class SqlSettings:
    """A query in Spark's SQL, and the base path of each table that it names."""

    query: str
    tables: Mapping[str, str]


def sql_settings(options: Options, properties: Mapping[str, str]) -> SqlSettings:
    """Return the settings of a derived table. Raises SettingsError, naming the key."""
    if options.ordering_field != READ_MS:
        raise SettingsError(
            f"--source-ordering-field {options.ordering_field}: a derived table's rows are ordered by {READ_MS}"
        )
    if options.operation != "upsert":
        raise SettingsError(f"--op {options.operation.upper()}: a derived table's rows are upserted")
    if properties.get(keys.PARTITION_PATH):
        raise SettingsError(f"{keys.PARTITION_PATH}: a derived table has no partitions")
    tables: dict[str, str] = {}
    for pair in required(properties, keys.SQL_TABLES, keys.SQL_QUERY).split(","):
        name, sign, path = (part.strip() for part in pair.partition("="))
        if not (name and sign and path) or name in tables:
            raise SettingsError(f"{keys.SQL_TABLES}: {pair.strip()!r} isn't a table's name=path, each once")
        tables[name] = path.rstrip("/")
    return SqlSettings(query=properties[keys.SQL_QUERY], tables=tables)
