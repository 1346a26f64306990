"""Reads the tables that HoodieMultiTableStreamer's properties name, and the settings of each one's job."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from spark_jobs.errors import Log, SettingsError
from spark_jobs.options import keys, properties
from spark_jobs.options.command_line import (
    OPERATIONS,
    TABLE_TYPES,
    MultiTableOptions,
    Options,
    table_name,
    transformers,
)
from spark_jobs.options.settings import OF_MANY_TABLES, ApplicationSettings, Settings, decide

ReadText = Callable[[str], str]
_NO_DATABASE = "default"
# In a table's own file these decide, where HoodieMultiTableStreamer would silently use the option.
_OPERATION_KEYS = ("hoodie.datasource.write.operation",)


@dataclass(frozen=True)
class ListedTable:
    """A table of the list: its names, and the file with its own properties."""

    database: str
    name: str
    config_file: str

    @property
    def full_name(self) -> str:
        """`database.table`, its name in the log, the metrics and Spark's pools."""
        return f"{self.database}.{self.name}"


class TableList:
    """The common properties, and the tables that they name; a table's own file is read when its job begins."""

    def __init__(self, given: MultiTableOptions, read_text: ReadText) -> None:
        """Read `--props` with `read_text`. Raises SettingsError for a list that is missing or names a table twice."""
        self._given = given
        self._read_text = read_text
        self._overrides = properties.combine([], properties.parse_overrides(given.shared.hoodie_conf))
        common = properties.load(given.props, read_text)
        self._common = properties.combine(common, [])
        of_all = self._all({})
        application = properties.read(ApplicationSettings, of_all)
        if not application.names:
            raise SettingsError(f"{keys.TABLES} is missing: name the tables, as database.table,database.table")
        self.tables = tuple(map(self._table, application.names))
        found = [table.full_name for table in self.tables]
        if twice := sorted({name for name in found if found.count(name) > 1}):
            raise SettingsError(f"{keys.TABLES}: {', '.join(twice)} is named twice")
        self._refuse_unknown(of_all)
        if application.base_path is not None:
            raise SettingsError(f"{keys.TARGET_BASE_PATH} is for one table: say it in that table's own file")
        # How many tables may decode and commit at the same time.
        self.parallel_commits = application.parallel_commits
        self.stop_file = of_all.get(keys.STOP_FILE)
        self.metrics_namespace = of_all.get(keys.METRICS_NAMESPACE)

    def settings(self, table: ListedTable, warn: Log) -> Settings:
        """Return the settings of a table's job; raises SettingsError as `settings.decide` does."""
        own = properties.combine(properties.load(table.config_file, self._read_text), [])
        for key in own:
            if key in keys.OF_THE_APPLICATION or key.endswith(keys.CONFIG_FILE_SUFFIX):
                raise SettingsError(f"{table.config_file}: {key} is for the whole application: say it in --props")
        merged = self._all(own)
        self._refuse_unknown(own)
        options = self._options(table, own, merged)
        ours = {
            key: value
            for key, value in merged.items()
            if not key.startswith(keys.INGESTION_PREFIX) and key not in (keys.TRANSFORMER_CLASS, keys.STOP_FILE)
        }
        return decide(options, ours, warn)

    def _all(self, own: Mapping[str, str]) -> dict[str, str]:
        return {**self._common, **own, **self._overrides}

    def _table(self, name: str) -> ListedTable:
        database, _, table = table_name(keys.TABLES, name).rpartition(".")
        database = database or _NO_DATABASE
        key = f"{keys.INGESTION_PREFIX}{database}.{table}{keys.CONFIG_FILE_SUFFIX}"
        default = f"{self._given.config_folder}/{database}_{table}_config.properties"
        return ListedTable(database, table, self._all({}).get(key, default))

    def _refuse_unknown(self, given: Mapping[str, str]) -> None:
        named = {f"{keys.INGESTION_PREFIX}{table.full_name}{keys.CONFIG_FILE_SUFFIX}" for table in self.tables}
        for key in given:
            if not key.startswith(keys.INGESTION_PREFIX) or key in OF_MANY_TABLES or key in named:
                continue
            of_a_table = key.endswith(keys.CONFIG_FILE_SUFFIX)
            raise SettingsError(f"{key}: {f'{keys.TABLES} names no such table' if of_a_table else 'unknown property'}")

    def _options(self, table: ListedTable, own: Mapping[str, str], merged: Mapping[str, str]) -> Options:
        shared = self._given.shared
        interval = OF_MANY_TABLES[keys.MIN_SYNC_INTERVAL].read(merged)
        applied = shared.transformers
        if given := merged.get(keys.TRANSFORMER_CLASS):
            applied = transformers(keys.TRANSFORMER_CLASS, given)
        default = f"{self._given.base_path_prefix}/{table.database}/{table.name}"
        return replace(
            shared,
            target_base_path=OF_MANY_TABLES[keys.TARGET_BASE_PATH].read(own) or default,
            target_table=table.full_name,
            table_type=_own(own, keys.TABLE_TYPES, shared.table_type, TABLE_TYPES),
            operation=_own(own, _OPERATION_KEYS, shared.operation, OPERATIONS).lower(),
            ordering_field=_own(own, keys.ORDERINGS, shared.ordering_field, ()),
            min_sync_interval_seconds=shared.min_sync_interval_seconds if interval is None else interval,
            transformers=applied,
        )


def _own(own: Mapping[str, str], names: tuple[str, ...], otherwise: str, words: tuple[str, ...]) -> str:
    return str(properties.Declared(names=names, default=otherwise, words=words).read(own))
