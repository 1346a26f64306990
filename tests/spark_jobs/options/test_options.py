"""The command line and properties files: HoodieStreamer's names, each supported or refused; the page lists them.

`python -m tests.spark_jobs.options.test_options` rewrites the page's defaults.
"""

import re
from pathlib import Path
from typing import Any, cast

import pytest

from spark_jobs.errors import SettingsError
from spark_jobs.options import command_line, properties, settings
from spark_jobs.options.properties import Declared
from spark_jobs.runtime.hadoop import read_text
from tests.spark_jobs.events import ROOT
from tests.spark_jobs.test_loop import REPORT

NEEDED = ["--table-type", "COPY_ON_WRITE", "--target-base-path", "s3://lake/t", "--target-table", "datalake.t"]
# A HoodieDeltaStreamer command line on EMR, with only the class and the jar replaced by this job's.
DELTASTREAMER_LINE = [
    *("--table-type", "COPY_ON_WRITE"),
    *("--source-ordering-field", "__source_ts_ms"),
    *("--props", "s3://data-lake-demo-cevo/hudi/config/cdc_events_deltastreamer_s3.properties"),
    *("--source-class", "org.apache.hudi.utilities.sources.JsonDFSSource"),
    *("--target-base-path", "s3://data-lake-demo-cevo/hudi/cdc-events/"),
    *("--target-table", "datalake.cdc_events"),
    *("--schemaprovider-class", "org.apache.hudi.utilities.schema.FilebasedSchemaProvider"),
    *("--enable-sync", "--min-sync-interval-seconds", "5"),
    *("--continuous", "--op", "UPSERT"),
]


def test_deltastreamers_line_is_understood() -> None:
    given = command_line.parse(DELTASTREAMER_LINE)
    assert (given.operation, given.ordering_field, given.table_type) == ("upsert", "__source_ts_ms", "COPY_ON_WRITE")
    assert (given.continuous, given.enable_sync, given.min_sync_interval_seconds) == (True, True, 5)
    assert given.target_base_path == "s3://data-lake-demo-cevo/hudi/cdc-events"


def test_names_have_their_aliases_and_both_forms() -> None:
    given = command_line.parse([*NEEDED, "--source-ordering-fields=seq", "--enable-hive-sync", "--op", "bulk_insert"])
    assert (given.ordering_field, given.enable_sync, given.operation) == ("seq", True, "bulk_insert")
    given = command_line.parse([*NEEDED, "--hoodie-conf", "a=1,2", "--hoodie-conf", "b=x=y"])
    assert given.hoodie_conf == ("a=1,2", "b=x=y")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--filter-dupes", "x"], "--filter-dupes isn't supported: each batch already keeps the newest event of a key"),
        (["-rc"], "-rc isn't supported: table services run inside the commit here, one at a time"),
        (["--continous"], "--continous: unknown option; did you mean --continuous?"),
        (["--conti"], "--conti: unknown option"),
        (["--enable-sync=true"], "--enable-sync"),
        (["stray"], "stray: unknown option; see --help"),
        (["--op", "DELETE_PARTITION"], "--op=DELETE_PARTITION: say UPSERT or INSERT or BULK_INSERT"),
        (["--source-class", "org.apache.hudi.utilities.sources.SqlSource"], "SqlSource: say JsonKafkaSource or"),
        (
            ["--schemaprovider-class", "x.JdbcbasedSchemaProvider"],
            "JdbcbasedSchemaProvider: say FilebasedSchemaProvider or",
        ),
        (["--payload-class", "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"], "--payload-class"),
        (["--sync-tool-classes", "org.apache.hudi.hive.HiveSyncTool"], "HiveSyncTool: say AwsGlueCatalogSyncTool or"),
        (["--source-ordering-field", "a,b"], "--source-ordering-field=a,b: name exactly one field"),
        (["--target-table", ""], "--target-table: '' isn't database.table or table"),
        (["--target-table", "a.b.c"], "--target-table: 'a.b.c' isn't database.table or table"),
        (["--target-base-path", "/"], "--target-base-path=/: say a value, or leave it out"),
        (["--props", ""], "--props=: say a value, or leave it out"),
        # Migrants ask for these: the reason has the way out.
        (
            ["--source-class", "x.AvroKafkaSource"],
            "--source-class=x.AvroKafkaSource isn't supported: values are",
        ),
        (["--schemaprovider-class", "x.SchemaRegistryProvider"], "isn't supported: no schema registry is asked: save"),
        (["--transformer-class", "x.ChainedTransformer"], "ChainedTransformer isn't supported: Java classes of"),
        (
            ["--transformer-class", "SqlQueryBasedTransformer,x.SqlFileBasedTransformer"],
            "--transformer-class=x.SqlFileBasedTransformer isn't supported: the query is read from hoodie.streamer.",
        ),
    ],
)
def test_anything_else_is_refused_by_name(arguments: list[str], message: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        command_line.parse([*NEEDED, *arguments])
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_several_transformers_are_named_by_comma() -> None:
    once = "SqlQueryBasedTransformer"
    twice = f"{once}, org.apache.hudi.utilities.transform.{once}"
    assert command_line.parse(NEEDED).transformers == 0
    assert command_line.parse([*NEEDED, "--transformer-class", once]).transformers == 1
    assert command_line.parse([*NEEDED, "--transformer-class", twice]).transformers == 2


def test_needed_options_are_asked_for() -> None:
    with pytest.raises(SettingsError, match="missing: --target-base-path, --target-table, --table-type"):
        command_line.parse([])


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a=1\nb = 2 \n c\t=\t3", [("a", "1"), ("b", "2"), ("c", "3")]),
        ("a:1\nb 2\nc", [("a", "1"), ("b", "2"), ("c", "")]),
        ("# a=1\n  ! b=2\n\n#\n\r\nc=3", [("c", "3")]),
        ("a=one, \\\n    two\\\n  three", [("a", "one, twothree")]),
        ("a=x\\\\\nb=2", [("a", "x\\"), ("b", "2")]),
        (r"a\ b\=c=d\te\u00e9\uD83D\uDE00\ud83d", [("a b=c", "d\teé😀\ufffd")]),
        ("url=jdbc:hive2://10.100.22.160:10000", [("url", "jdbc:hive2://10.100.22.160:10000")]),
        ("a=b=c#d", [("a", "b=c#d")]),
        ("a=1\na=2", [("a", "1"), ("a", "2")]),
        ("a=1\\", [("a", "1")]),
        ("a=x\u2028y\x0cz\x85w\nb=2", [("a", "x\u2028y\x0cz\x85w"), ("b", "2")]),
        ("", []),
    ],
)
def test_parse(text: str, pairs: list[tuple[str, str]]) -> None:
    assert properties.parse(text) == pairs


ROOT_KEY, DELETES_KEY = "hoodie.streamer.source.dfs.root", "hoodie.streamer.deletes.max.keys"


@pytest.mark.parametrize(
    ("pairs", "overrides", "combined"),
    [
        ([("hoodie.deltastreamer.source.dfs.root", "a")], [], {ROOT_KEY: "a"}),
        ([("hoodie.streamer.tombstones.max.keys", "1")], [], {DELETES_KEY: "1"}),
        ([("hoodie.deltastreamer.tombstones.max.keys", "1")], [], {DELETES_KEY: "1"}),
        ([("hoodie.deltastreamer.source.dfs.root", "a")], [(ROOT_KEY, "b")], {ROOT_KEY: "b"}),
        ([("x", "1"), ("x", "2")], [], {"x": "2"}),
    ],
)
def test_an_older_name_is_the_newer_one_and_the_last_entry_wins(
    pairs: list[tuple[str, str]], overrides: list[tuple[str, str]], combined: dict[str, str]
) -> None:
    assert properties.combine(pairs, overrides) == combined


def test_one_key_under_both_names_must_agree() -> None:
    pairs = [("hoodie.deltastreamer.x", "1"), ("hoodie.streamer.x", "2")]
    with pytest.raises(SettingsError, match=r"^hoodie\.streamer\.x: given twice"):
        properties.combine(pairs, [])
    assert properties.combine([pairs[0], ("hoodie.streamer.x", "1")], []) == {"hoodie.streamer.x": "1"}


def test_included_files_are_found_beside_the_including_one(tmp_path: Path) -> None:
    (tmp_path / "main.properties").write_text("a=1\ninclude=more/b.properties\nc=3\n")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "b.properties").write_text("b=2\ninclude=../d.properties\n")
    (tmp_path / "d.properties").write_text("c=0\n")
    pairs = properties.load(str(tmp_path / "main.properties"), lambda path: Path(path).read_text())
    assert properties.combine(pairs, []) == {"a": "1", "b": "2", "c": "3"}


def test_a_file_is_text_in_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "table.properties"
    path.write_text("a=größe", encoding="utf-8")
    assert read_text(str(path), cast(Any, None)) == "a=größe"
    path.write_text("a=größe", encoding="latin-1")
    with pytest.raises(SettingsError, match=r"table\.properties: not UTF-8 text"):
        read_text(str(path), cast(Any, None))


def test_files_that_include_each_other_are_refused() -> None:
    texts = {"/x/a": "include=b", "/x/b": "include=a"}
    with pytest.raises(SettingsError, match="includes itself through /x/a -> /x/b"):
        properties.load("/x/a", texts.__getitem__)


@pytest.mark.parametrize("override", ["key", "=value"])
def test_overrides_are_pairs(override: str) -> None:
    with pytest.raises(SettingsError, match="write it as key=value"):
        properties.parse_overrides([override])


PAGE = ROOT / "docs" / "reference" / "streaming-job.md"
_TABLE = re.compile(r"\| (?:option|property) \| default \| meaning \|\n\|---\|---\|---\|\n((?:\| .*\n)*)")
# In the page's order.
TABLES: list[dict[str, Declared]] = [
    properties.declared_in(command_line.Options),
    settings.PROPERTIES,
    properties.declared_in(command_line.MultiTableOptions),
    settings.OF_MANY_TABLES,
]


def default_of(declared: Declared) -> str:
    """A default as on the page."""
    is_option = declared.key.startswith("--")
    if declared.needed_by and is_option:
        return "needed"
    if isinstance(declared.default, bool) and is_option:
        return "on" if declared.default else "off"
    default = str(declared.default).lower() if isinstance(declared.default, bool) else declared.default
    said = "none" if default in (None, ()) else f"`{default}`"
    return f"{said}, {declared.number}" if declared.number else said


def row(line: str, declared: Declared) -> str:
    """A table's expected line; only the page has its meaning and the reason for no default."""
    names, default, meaning = line.strip("| ").split(" | ", 2)
    is_option = declared.key.startswith("--")
    names = ", ".join(f"`{name}`" for name in declared.names) if is_option else names
    says = declared.default not in (None, ()) or declared.number or (is_option and declared.needed_by)
    return f"| {names} | {default_of(declared) if says else default} | {meaning} |"


def tables() -> list[list[str]]:
    return [found.splitlines() for found in _TABLE.findall(PAGE.read_text())]


def key(line: str) -> str:
    return line.split("`")[1]


def test_each_table_has_what_is_declared() -> None:
    assert [sorted(map(key, table)) for table in tables()] == [sorted(declared) for declared in TABLES]
    for table, declared in zip(tables(), TABLES, strict=True):
        assert table == [row(line, declared[key(line)]) for line in table]


def test_the_line_of_a_commit_is_the_real_one() -> None:
    assert f"{REPORT.line()} table=shop.orders" in PAGE.read_text().splitlines()


if __name__ == "__main__":
    text = PAGE.read_text()
    for found, known in zip(tables(), TABLES, strict=True):
        for old in found:
            text = text.replace(old, row(old, known[key(old)]))
    PAGE.write_text(text)
