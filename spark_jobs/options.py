"""The command line: HoodieStreamer's own option names, each of them supported or refused by name."""

import argparse
import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from contract.events import ORDERING, READ_MS
from spark_jobs.errors import SettingsError
from spark_jobs.number import DAY_S, Number
from spark_jobs.option_values import (
    FILE_SOURCES,
    JDBC_SOURCES,
    KAFKA_SOURCES,
    NOT_JAVA,
    OPERATIONS,
    PAYLOADS,
    SCHEMA_PROVIDERS,
    SYNC_TOOLS,
    TABLE_TYPES,
    one_field,
    one_of,
    table_name,
    transformers,
)

# Checked after everything else, so that a misspelt option is named rather than the one that it was meant to be.
REQUIRED = ("--target-base-path", "--target-table", "--table-type")
NUMBERS = {
    "--min-sync-interval-seconds": Number(0, 0, DAY_S),
    "--source-limit": Number(None, 1, 10**15),
    "--retry-interval-seconds": Number(30, 1, DAY_S),
    "--max-retry-count": Number(5, 0, 1_000_000),
}

_INLINE = "table services run inside the commit here, one at a time"
UNSUPPORTED = {
    "--allow-commit-on-no-checkpoint-change": "a batch without data makes no commit",
    "--bootstrap-index-class": "an existing Parquet table can't be bootstrapped by this job",
    "--bootstrap-overwrite": "an existing Parquet table can't be bootstrapped by this job",
    "--cluster-scheduling-minshare": _INLINE,
    "--cluster-scheduling-weight": _INLINE,
    "--commit-on-errors": "events that don't fit go to quarantine; after any other error a commit would lose data",
    "--compact-scheduling-minshare": _INLINE,
    "--compact-scheduling-weight": _INLINE,
    "--config-hot-update-strategy-class": NOT_JAVA,
    "--delta-sync-scheduling-minshare": _INLINE,
    "--delta-sync-scheduling-weight": _INLINE,
    "--enable-hive-support": "the catalogue is Glue, reached by --enable-sync",
    "--filter-dupes": "each batch already keeps the newest event of a key; use --op UPSERT",
    "--force-empty-sync": "the catalogue changes only with the schema or the partitions",
    "--ingestion-metrics-class": NOT_JAVA,
    "--initial-checkpoint-provider": f"{NOT_JAVA}; give the start with --checkpoint",
    "--max-pending-clustering": _INLINE,
    "--max-pending-compactions": _INLINE,
    "--merge-impl-classes": "only event-time ordering is supported",
    "--merge-strategy-id": "only event-time ordering is supported",
    "--post-write-termination-strategy-class": f"{NOT_JAVA}; stop the job with SIGTERM",
    "--record-merge-custom-implementation-classes": "only event-time ordering is supported",
    "--record-merge-strategy-id": "only event-time ordering is supported",
    "--retry-last-pending-inline-clustering": _INLINE,
    "--retry-last-pending-inline-compaction": _INLINE,
    "--run-bootstrap": "an existing Parquet table can't be bootstrapped by this job",
    "-rc": _INLINE,
}


@dataclass(frozen=True, kw_only=True)
class Options:
    """The command line's values, checked one by one; what they mean together `settings` decides."""

    target_base_path: str
    target_table: str
    table_type: str
    operation: str
    source_class: str
    ordering_field: str
    props: str | None
    hoodie_conf: tuple[str, ...]
    enable_sync: bool
    min_sync_interval_seconds: int
    continuous: bool
    source_limit: int | None
    transformers: int
    checkpoint: str | None
    ignore_checkpoint: str | None
    disable_compaction: bool
    retry_interval_seconds: int
    max_retry_count: int
    spark_master: str | None
    spark_app_name: str | None


class Parser(argparse.ArgumentParser):
    """argparse with one-line errors that are raised instead of printed."""

    def error(self, message: str) -> NoReturn:
        """Raise SettingsError."""
        raise SettingsError(message)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all supported options; the README's table is checked against it."""
    parser = Parser(
        prog="streamer.py",
        allow_abbrev=False,
        description="Keep a Hudi table equal to what Debezium's change events say.",
    )
    add = parser.add_argument_group("table").add_argument
    add("--target-base-path", help="the table's base path (local, s3://, s3a://, hdfs://)")
    add("--target-table", type=table_name, help="the table's name, `database.table` or `table`")
    add_shared(parser)
    return parser


def parse(arguments: Sequence[str]) -> Options:
    """Parse a command line.

    Raises SettingsError, naming the option, for one that is unknown, unsupported, missing or wrong.
    """
    values = read_values(build_parser(), arguments, REQUIRED)
    return to_options(values, base_path=values.target_base_path.rstrip("/"), table=values.target_table)


def read_values(
    parser: argparse.ArgumentParser, arguments: Sequence[str], required: Sequence[str]
) -> argparse.Namespace:
    """Parse a command line; SettingsError for what is unknown, unsupported, missing or wrong."""
    for argument in arguments:
        name = argument.partition("=")[0]
        if name in UNSUPPORTED:
            raise SettingsError(f"{name} isn't supported: {UNSUPPORTED[name]}")
    values, unknown = parser.parse_known_args(arguments)
    if unknown:
        raise SettingsError(_unknown_option(parser, unknown[0]))
    missing = [name for name in required if getattr(values, name[2:].replace("-", "_")) is None]
    if missing:
        raise SettingsError(f"missing: {', '.join(missing)}; see --help")
    for name, value in vars(values).items():
        if isinstance(value, str) and not value.strip(" /"):
            raise SettingsError(f"--{name.replace('_', '-')}={value}: say a value, or leave the option out")
    return values


def to_options(values: argparse.Namespace, *, base_path: str, table: str) -> Options:
    """Return the values of a parser that has the shared options, for one table."""
    return Options(
        target_base_path=base_path,
        target_table=table,
        table_type=values.table_type,
        operation=values.op.lower(),
        source_class=values.source_class,
        ordering_field=values.source_ordering_field or ordering_of(values.source_class),
        props=values.props,
        hoodie_conf=tuple(values.hoodie_conf),
        enable_sync=values.enable_sync,
        min_sync_interval_seconds=values.min_sync_interval_seconds,
        continuous=values.continuous,
        source_limit=values.source_limit,
        transformers=values.transformer_class or 0,
        checkpoint=values.checkpoint,
        ignore_checkpoint=values.ignore_checkpoint,
        disable_compaction=values.disable_compaction,
        retry_interval_seconds=values.retry_interval_seconds,
        max_retry_count=values.max_retry_count,
        spark_master=values.spark_master,
        spark_app_name=values.spark_app_name,
    )


def ordering_of(source_class: str) -> str:
    """Return the field that says which of two events of a source is the newer one, unless an option names another."""
    return READ_MS if source_class in JDBC_SOURCES else ORDERING


def add_shared(parser: argparse.ArgumentParser) -> None:
    """Add the options that don't name a table."""
    _add_table_options(parser)
    _add_source_options(parser)
    _add_run_options(parser)


def _add_table_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("table").add_argument
    add("--table-type", type=str.upper, choices=TABLE_TYPES, help="how the table stores updates")
    add("--op", default="UPSERT", type=str.upper, choices=OPERATIONS, help="the write operation")
    add("--base-file-format", default="PARQUET", type=str.upper, choices=("PARQUET",), help="only PARQUET")
    add("--payload-class", default=PAYLOADS[1], choices=PAYLOADS, help="only the payload that honours the ordering")
    add(
        "--merge-mode",
        "--record-merge-mode",
        default="EVENT_TIME_ORDERING",
        choices=("EVENT_TIME_ORDERING",),
        help="only event-time ordering",
    )
    add("--disable-compaction", action="store_true", help="merge-on-read: no compaction within this job")
    add("--enable-sync", "--enable-hive-sync", action="store_true", help="keep the Glue catalogue up to date")
    add("--sync-tool-classes", default=SYNC_TOOLS[1], choices=SYNC_TOOLS, help="only Hudi's own Glue sync")
    _add_number(add, "--min-sync-interval-seconds", "seconds from round to round, at least")


def _add_source_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("source").add_argument
    add("--props", help="a .properties file (local, s3://, s3a://, hdfs://)")
    add("--hoodie-conf", action="append", default=[], metavar="KEY=VALUE", help="overrides a property; repeatable")
    add(
        "--source-class",
        default=FILE_SOURCES[1],
        type=one_of((*FILE_SOURCES, *KAFKA_SOURCES, *JDBC_SOURCES)),
        help="where events come from",
    )
    add(
        "--source-ordering-field",
        "--source-ordering-fields",
        type=one_field,
        help=f"the field whose higher value is the newer event: {ORDERING}, of JdbcSource {READ_MS}",
    )
    add(
        "--schemaprovider-class",
        default=SCHEMA_PROVIDERS[1],
        type=one_of(SCHEMA_PROVIDERS),
        help="only an Avro file",
    )
    add(
        "--transformer-class",
        type=transformers,
        help="SqlQueryBasedTransformer: hoodie.streamer.transformer.sql changes each batch; several, by comma, chain",
    )
    _add_number(add, "--source-limit", "bytes (files), events (Kafka) or rows (JDBC) that one commit may take")
    add("--checkpoint", help="start here instead of at the table's progress; applied once per value")
    add("--ignore-checkpoint", help="a unique value: forget the table's progress once and start at the beginning")


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("run").add_argument
    add("--continuous", action="store_true", help="go on until SIGTERM instead of ending when all is read")
    add("--retry-on-source-failures", action="store_true", help="accepted: they always are")
    _add_number(add, "--retry-interval-seconds", "the longest pause between two attempts")
    _add_number(add, "--max-retry-count", "attempts before the job gives up")
    add("--spark-master", help="the Spark master, when spark-submit doesn't give one")
    add("--spark-app-name", help="the application's name; streamer-<table> when not given")


def _add_number(add: Callable[..., object], name: str, meaning: str) -> None:
    add(name, type=lambda text: int(NUMBERS[name].read(name, text)), default=NUMBERS[name].default, help=meaning)


def _unknown_option(parser: argparse.ArgumentParser, argument: str) -> str:
    name = argument.partition("=")[0]
    known = [option for action in parser._actions for option in action.option_strings]
    close = difflib.get_close_matches(name, [*known, *UNSUPPORTED], n=1)
    return f"{name}: unknown option" + (f"; did you mean {close[0]}?" if close else "; see --help")
