"""The command line for many tables: HoodieMultiTableStreamer's own option names."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from spark_jobs.errors import SettingsError
from spark_jobs.options import Options, Parser, add_shared, read_values, to_options

REQUIRED = ("--base-path-prefix", "--config-folder", "--props", "--table-type")


@dataclass(frozen=True, kw_only=True)
class MultiTableOptions:
    """HoodieMultiTableStreamer's command line; `shared` holds for every table, without its name and base path."""

    base_path_prefix: str
    config_folder: str
    names_target_table: bool
    shared: Options


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of HoodieMultiTableStreamer's options; the README's table is checked against it."""
    parser = Parser(
        prog="multi_table_streamer.py",
        allow_abbrev=False,
        description="Keep many Hudi tables equal to what Debezium's change events say, in one Spark application.",
    )
    add = parser.add_argument_group("tables").add_argument
    add("--base-path-prefix", help="the tables' base paths begin so: <prefix>/<database>/<table>")
    add("--config-folder", help="folder with <database>_<table>_config.properties for each table")
    add("--target-table", help="accepted, as HoodieMultiTableStreamer does, and not used")
    add_shared(parser)
    return parser


def parse(arguments: Sequence[str]) -> MultiTableOptions:
    """Parse a command line of HoodieMultiTableStreamer; raises SettingsError as `parse` does."""
    for argument in arguments:
        if argument.partition("=")[0] == "--target-base-path":
            raise SettingsError(
                "--target-base-path is HoodieStreamer's: give --base-path-prefix, or "
                "hoodie.streamer.ingestion.targetBasePath in a table's own file"
            )
    values = read_values(build_parser(), arguments, REQUIRED)
    return MultiTableOptions(
        base_path_prefix=values.base_path_prefix.rstrip("/"),
        config_folder=values.config_folder.rstrip("/"),
        names_target_table=values.target_table is not None,
        shared=to_options(values, base_path="", table=""),
    )
