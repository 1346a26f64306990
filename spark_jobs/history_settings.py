"""Decides of which table a history table is."""

from collections.abc import Mapping
from dataclasses import dataclass

from contract.history import COLUMNS, COMMIT, VERSION, column
from spark_jobs import keys
from spark_jobs.beside import EVENTS_FOLDER, beside
from spark_jobs.errors import SettingsError
from spark_jobs.options import Options
from spark_jobs.property_values import fields


@dataclass(frozen=True, kw_only=True)
class HistorySettings:
    """The base path of the table whose versions are kept, and what the history calls the columns of that table's key.

    `events_path`: where its job puts the events of its commits.
    """

    path: str
    events_path: str
    key_fields: tuple[str, ...]


def history_settings(options: Options, properties: Mapping[str, str]) -> HistorySettings:
    """Return the settings of a history table. Raises SettingsError, naming the key."""
    key = fields(properties.get(keys.RECORD_KEY, ""))
    if len(key) < 3 or key[-2:] != (COMMIT, VERSION):
        raise SettingsError(f"{keys.RECORD_KEY}: a history's is its table's key and, behind it, {COMMIT},{VERSION}")
    for name in key[:-2]:
        if name in COLUMNS:
            raise SettingsError(f"{keys.RECORD_KEY}: {name} is a column of each history: its table's is {column(name)}")
    if options.ordering_field != COMMIT:
        raise SettingsError(f"--source-ordering-field {options.ordering_field}: a history's is {COMMIT}")
    if options.operation != "upsert":
        raise SettingsError(f"--op {options.operation.upper()}: a history's rows are upserted, to be there once")
    if properties.get(keys.PARTITION_PATH):
        raise SettingsError(f"{keys.PARTITION_PATH}: a history has no partitions")
    path = properties[keys.HISTORY_OF].rstrip("/")
    return HistorySettings(path=path, events_path=beside(path, EVENTS_FOLDER), key_fields=key[:-2])
