"""The two command lines: HoodieStreamer's and HoodieMultiTableStreamer's names, each supported or refused by name."""

import argparse
import difflib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import chain
from typing import Any, NoReturn

from contract.events import ORDERING, READ_MS
from spark_jobs.errors import SettingsError
from spark_jobs.options.keys import refused
from spark_jobs.options.properties import DAY_S, Declared, declare, folder, number, one_of

_CLASSES = "org.apache.hudi.utilities."
FILE_SOURCES = ("JsonDFSSource", f"{_CLASSES}sources.JsonDFSSource")
JDBC_SOURCES = ("JdbcSource", f"{_CLASSES}sources.JdbcSource")
KAFKA_SOURCES = ("JsonKafkaSource", f"{_CLASSES}sources.JsonKafkaSource")
SCHEMA_PROVIDERS = ("FilebasedSchemaProvider", f"{_CLASSES}schema.FilebasedSchemaProvider")
TRANSFORMERS = ("SqlQueryBasedTransformer", f"{_CLASSES}transform.SqlQueryBasedTransformer")
PAYLOADS = ("DefaultHoodieRecordPayload", "org.apache.hudi.common.model.DefaultHoodieRecordPayload")
SYNC_TOOLS = ("AwsGlueCatalogSyncTool", "org.apache.hudi.aws.sync.AwsGlueCatalogSyncTool")
TABLE_TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
OPERATIONS = ("UPSERT", "INSERT", "BULK_INSERT")
_NEEDED: dict[str, Any] = {"needed_by": "the job"}


def table_name(name: str, text: str) -> str:
    """Return an option's or a property's table name; raises SettingsError for any other text."""
    parts = text.split(".")
    if len(parts) > 2 or not all(part.strip() for part in parts) or "/" in text:
        raise SettingsError(f"{name}: {text!r} isn't database.table or table")
    return text


def transformers(name: str, text: str) -> int:
    """Return how often the query is applied: once per class in a comma-separated list; raises SettingsError."""
    return len([one_of(name, given.strip(), TRANSFORMERS) for given in text.split(",")])


def _one_field(name: str, text: str) -> str:
    if "," in text or not text.strip():
        raise SettingsError(f"{name}={text}: name exactly one field")
    return text.strip()


def _only(*names: str, words: tuple[str, ...]) -> Any:
    return declare(*names, default=words[-1], words=words, help="nothing else")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The command line's values, checked one by one; `settings` decides their combined meaning."""

    target_base_path: str = declare(
        "--target-base-path", take=folder, **_NEEDED, help="the table's base path: local, `s3://`, `s3a://`, `hdfs://`"
    )
    target_table: str = declare("--target-table", take=table_name, **_NEEDED, help="`database.table` or `table`")
    table_type: str = declare("--table-type", words=TABLE_TYPES, **_NEEDED, help="`COPY_ON_WRITE` or `MERGE_ON_READ`")
    operation: str = declare(
        "--op",
        words=OPERATIONS,
        default="UPSERT",
        help="`UPSERT`, `INSERT` or `BULK_INSERT`; a batch with deletes, or with rows that were queried and have "
        "changed, is always written by upsert, `BULK_INSERT` fills a bucket index only once, then inserts, and a first "
        "load of more than 1,000 rows that were queried may be inserted in bulk though it says `UPSERT`",
    )
    base_file_format: str = _only("--base-file-format", words=("PARQUET",))
    payload_class: str = declare(
        "--payload-class", default=PAYLOADS[-1], words=PAYLOADS, help="nothing else: others don't honour the ordering"
    )
    merge_mode: str = _only("--merge-mode", "--record-merge-mode", words=("EVENT_TIME_ORDERING",))
    disable_compaction: bool = declare(
        "--disable-compaction",
        default=False,
        help="merge-on-read: no compaction inside this job (it runs inline, every 5 delta commits)",
    )
    enable_sync: bool = declare(
        "--enable-sync", "--enable-hive-sync", default=False, help="keep the Glue catalogue up to date"
    )
    sync_tool_classes: str = _only("--sync-tool-classes", words=SYNC_TOOLS)
    min_sync_interval_seconds: int = number(
        "--min-sync-interval-seconds",
        *(0, 0, DAY_S),
        help="with `--continuous`: seconds from the begin of one round to the next, at least, as in HoodieStreamer; a "
        "catalogue sync follows the round that needs it",
    )
    props: str | None = declare(
        "--props", help="a .properties file: local, `s3://`, `s3a://`, `hdfs://`; `include=` works"
    )
    hoodie_conf: tuple[str, ...] = declare(
        "--hoodie-conf", default=(), help="`key=value`, overrides a property; repeatable"
    )
    source_class: str = declare(
        "--source-class",
        default=FILE_SOURCES[-1],
        words=(*KAFKA_SOURCES, *JDBC_SOURCES, *FILE_SOURCES),
        help=f"that, `{KAFKA_SOURCES[1]}` or `{JDBC_SOURCES[1]}`; the short names work too",
    )
    ordering_field: str = declare(
        "--source-ordering-field",
        "--source-ordering-fields",
        take=_one_field,
        help="the field whose higher value is the newer event; exactly one",
    )
    schemaprovider_class: str = _only("--schemaprovider-class", words=SCHEMA_PROVIDERS)
    transformers: int = declare(
        "--transformer-class",
        take=transformers,
        help=f"`{TRANSFORMERS[1]}`, once or several times by comma",
    )
    source_limit: int | None = number(
        "--source-limit",
        *(None, 1, 10**15),
        help="bytes (files; one file at least), events (Kafka) or rows (JDBC) that one commit may take",
    )
    checkpoint: str | None = declare(
        "--checkpoint",
        help="start here instead of at the table's progress: milliseconds (files of that time or later), this job's "
        "own text, or `topic,0:123,1:456`; applied once per value",
    )
    ignore_checkpoint: str | None = declare(
        "--ignore-checkpoint", help="a unique value: forget the table's progress, once"
    )
    continuous: bool = declare(
        "--continuous", default=False, help="go on until SIGTERM; otherwise end when everything is read"
    )
    retry_on_source_failures: bool = declare(
        "--retry-on-source-failures",
        default=True,
        help="accepted: failures are always tried again, not only HoodieStreamer's source timeouts",
    )
    retry_interval_seconds: int = number(
        "--retry-interval-seconds",
        *(30, 1, DAY_S),
        help="the longest pause between two attempts; they start at 1 s and double",
    )
    max_retry_count: int = number(
        "--max-retry-count",
        *(5, 0, 1_000_000),
        help="attempts in a row, after a failure, before the job gives up; with `--continuous` an outage isn't counted "
        "but waited for",
    )
    spark_master: str | None = declare("--spark-master", help="the Spark master")
    spark_app_name: str | None = declare("--spark-app-name", help="the application's name")


@dataclass(frozen=True, kw_only=True)
class MultiTableOptions:
    """HoodieMultiTableStreamer's additional or differently named options, and those that `shared` gives every table."""

    base_path_prefix: str = declare(
        "--base-path-prefix", take=folder, **_NEEDED, help="a table's base path is `<prefix>/<database>/<table>`"
    )
    config_folder: str = declare(
        "--config-folder",
        take=folder,
        **_NEEDED,
        help="a table's own file is `<folder>/<database>_<table>_config.properties`",
    )
    props: str = declare("--props", **_NEEDED, help="the properties for all tables, the list among them")
    table_type: str = declare(
        "--table-type", words=TABLE_TYPES, **_NEEDED, help="for all tables whose own file says no other"
    )
    target_table: str | None = declare("--target-table", help="accepted and not used, as there")
    # Without a table's name and base path.
    shared: Options


class CommandLine:
    """A program's options, by the names of the fields that declare them."""

    def __init__(self, program: str, description: str, *classes: type, without: Sequence[str] = ()) -> None:
        """If several classes declare an option, the first one counts."""
        self.declared: dict[str, Declared] = {}
        for one in chain.from_iterable(map(fields, classes)):
            if one.name not in without:
                self.declared.setdefault(one.name, one.metadata["declared"])
        self._parser = _Parser(prog=program, allow_abbrev=False, description=description)
        for name, declared in self.declared.items():
            kind: dict[str, Any] = {"type": partial(declared.meant, declared.key), "metavar": declared.key[2:].upper()}
            if isinstance(declared.default, bool):
                kind = {"action": "store_true"}
            elif declared.default == ():
                kind = {"action": "append", "metavar": "KEY=VALUE"}
            default = declared.default if declared.default != () else []
            self._parser.add_argument(*declared.names, dest=name, help=declared.help, default=default, **kind)

    def parse(self, arguments: Sequence[str]) -> dict[str, Any]:
        """Return the options' values; raises SettingsError for unknown, unsupported, missing or wrong ones."""
        for argument in arguments:
            name = argument.partition("=")[0]
            if name in refused("option"):
                raise SettingsError(f"{name} isn't supported: {refused('option')[name]}")
        found, unknown = self._parser.parse_known_args(arguments)
        values = vars(found)
        if unknown:
            argument = unknown[0].partition("=")[0]
            known = [name for declared in self.declared.values() for name in declared.names]
            close = difflib.get_close_matches(argument, [*known, "--help", *refused("option")], n=1)
            hint = f"; did you mean {close[0]}?" if close else "; see --help"
            raise SettingsError(f"{argument}: unknown option{hint}")
        # Checked last, so that the error names the misspelt option rather than the intended one.
        keys = {name: declared.key for name, declared in self.declared.items()}
        if missing := [keys[name] for name, one in self.declared.items() if one.needed_by and values[name] is None]:
            raise SettingsError(f"missing: {', '.join(missing)}; see --help")
        for name, value in values.items():
            if isinstance(value, str) and not value.strip(" /"):
                raise SettingsError(f"{keys[name]}={value}: say a value, or leave it out")
        return values


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise SettingsError(message)


ONE_TABLE = CommandLine("streamer.py", "Keep a Hudi table equal to what Debezium's change events say.", Options)
MANY_TABLES = CommandLine(
    "multi_table_streamer.py",
    "Keep many Hudi tables equal to what Debezium's change events say, in one Spark application.",
    *(MultiTableOptions, Options),
    without=("target_base_path", "shared"),
)


def parse(arguments: Sequence[str]) -> Options:
    """Parse HoodieStreamer's command line; raises SettingsError, naming the option, for a wrong one."""
    return _options(ONE_TABLE.parse(arguments))


def parse_many(arguments: Sequence[str]) -> MultiTableOptions:
    """Parse HoodieMultiTableStreamer's command line; raises SettingsError as `parse` does."""
    for argument in arguments:
        if argument.partition("=")[0] == "--target-base-path":
            raise SettingsError(
                "--target-base-path is HoodieStreamer's: give --base-path-prefix, or "
                "hoodie.streamer.ingestion.targetBasePath in a table's own file"
            )
    values = MANY_TABLES.parse(arguments)
    places = {name: values.pop(name) for name in ("base_path_prefix", "config_folder")}
    own = {name: values[name] for name in ("props", "table_type", "target_table")}
    shared = _options({**values, "target_base_path": "", "target_table": ""})
    return MultiTableOptions(**places, **own, shared=shared)


def _options(values: dict[str, Any]) -> Options:
    ordering = READ_MS if values["source_class"] in JDBC_SOURCES else ORDERING
    decided = {
        "operation": values["operation"].lower(),
        "hoodie_conf": tuple(values["hoodie_conf"]),
        "ordering_field": values["ordering_field"] or ordering,
        "transformers": values["transformers"] or 0,
    }
    return Options(**{**values, **decided})
