"""The command line: HoodieStreamer's names, each supported or refused by name."""

import pytest

from spark_jobs import options
from spark_jobs.errors import SettingsError

NEEDED = ["--table-type", "COPY_ON_WRITE", "--target-base-path", "s3://lake/t", "--target-table", "datalake.t"]
# HoodieDeltaStreamer's command line on EMR, with only the class and the jar exchanged for this job.
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
    given = options.parse(DELTASTREAMER_LINE)
    assert (given.operation, given.ordering_field, given.table_type) == ("upsert", "__source_ts_ms", "COPY_ON_WRITE")
    assert (given.continuous, given.enable_sync, given.min_sync_interval_seconds) == (True, True, 5)
    assert given.target_base_path == "s3://data-lake-demo-cevo/hudi/cdc-events"


def test_what_is_not_said_has_hoodie_streamers_default_or_a_safer_one() -> None:
    given = options.parse(NEEDED)
    assert (given.operation, given.ordering_field, given.continuous) == ("upsert", "__lsn", False)
    assert given.source_class == "org.apache.hudi.utilities.sources.JsonDFSSource"
    assert (given.source_limit, given.checkpoint, given.hoodie_conf) == (None, None, ())


def test_names_have_their_aliases_and_both_forms() -> None:
    given = options.parse([*NEEDED, "--source-ordering-fields=seq", "--enable-hive-sync", "--op", "bulk_insert"])
    assert (given.ordering_field, given.enable_sync, given.operation) == ("seq", True, "bulk_insert")
    given = options.parse([*NEEDED, "--hoodie-conf", "a=1,2", "--hoodie-conf", "b=x=y"])
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
        (["--op", "DELETE_PARTITION"], "argument --op: invalid choice: 'DELETE_PARTITION'"),
        (["--source-class", "org.apache.hudi.utilities.sources.SqlSource"], "argument --source-class: invalid choice"),
        (["--schemaprovider-class", "x.JdbcbasedSchemaProvider"], "argument --schemaprovider-class: invalid choice"),
        (["--payload-class", "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"], "--payload-class"),
        (["--sync-tool-classes", "org.apache.hudi.hive.HiveSyncTool"], "argument --sync-tool-classes: invalid"),
        (["--source-ordering-field", "a,b"], "--source-ordering-field"),
        (["--source-limit", "0"], "--source-limit=0: say a whole number from 1 to "),
        (["--min-sync-interval-seconds", "-1"], "--min-sync-interval-seconds=-1: say a whole number from 0 to "),
        (["--target-table", ""], "argument --target-table: '' isn't database.table or table"),
        (["--target-table", "a.b.c"], "argument --target-table: 'a.b.c' isn't database.table or table"),
        (["--target-base-path", "/"], "--target-base-path=/: say a value, or leave the option out"),
        (["--props", ""], "--props=: say a value, or leave the option out"),
        (["--max-retry-count", "x"], "--max-retry-count=x: say a whole number from 0 to "),
    ],
)
def test_anything_else_is_refused_by_name(arguments: list[str], message: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        options.parse([*NEEDED, *arguments])
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("option", "class_name", "way_out"),
    [
        ("--source-class", "org.apache.hudi.utilities.sources.AvroKafkaSource", "use JsonKafkaSource"),
        ("--schemaprovider-class", "org.apache.hudi.utilities.schema.SchemaRegistryProvider", "an .avsc file"),
        ("--transformer-class", "org.apache.hudi.utilities.transform.ChainedTransformer", "SqlQueryBasedTransformer"),
        ("--transformer-class", "SqlQueryBasedTransformer,x.SqlFileBasedTransformer", "transformer.sql"),
    ],
)
def test_classes_that_migrants_ask_for_are_refused_with_the_way_out(option: str, class_name: str, way_out: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        options.parse([*NEEDED, option, class_name])
    assert str(refusal.value).startswith(f"argument {option}: {class_name.rpartition(',')[2]} isn't supported: ")
    assert way_out in str(refusal.value)


def test_several_transformers_are_named_by_comma() -> None:
    once = "SqlQueryBasedTransformer"
    twice = f"{once}, org.apache.hudi.utilities.transform.{once}"
    assert options.parse(NEEDED).transformers == 0
    assert options.parse([*NEEDED, "--transformer-class", once]).transformers == 1
    assert options.parse([*NEEDED, "--transformer-class", twice]).transformers == 2


def test_needed_options_are_asked_for() -> None:
    with pytest.raises(SettingsError, match="missing: --target-base-path, --target-table, --table-type"):
        options.parse([])
