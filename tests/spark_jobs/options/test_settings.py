"""Options and properties together: unknown and contradictory ones are refused, none is ignored silently."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.errors import SettingsError
from spark_jobs.options import command_line, keys, properties, settings
from spark_jobs.options.settings import FileSettings, KafkaSettings, Settings
from tests.spark_jobs.events import CONF
from tests.spark_jobs.options.test_options import DELTASTREAMER_LINE, NEEDED
from tests.spark_jobs.options.test_table_list import first, listed

# A properties file as HoodieDeltaStreamer takes it on EMR.
DELTASTREAMER_PROPERTIES = """
hoodie.upsert.shuffle.parallelism=2
hoodie.insert.shuffle.parallelism=2
hoodie.delete.shuffle.parallelism=2
hoodie.bulkinsert.shuffle.parallelism=2
hoodie.datasource.hive_sync.database=datalake
hoodie.datasource.hive_sync.table=cdc_events
hoodie.datasource.hive_sync.partition_fields=customer_id,order_id
hoodie.datasource.hive_sync.partition_extractor_class=org.apache.hudi.hive.MultiPartKeysValueExtractor
hoodie.datasource.hive_sync.jdbcurl=jdbc:hive2://10.100.22.160:10000
hoodie.datasource.write.recordkey.field=order_id
hoodie.datasource.write.partitionpath.field=customer_id,order_id
hoodie.datasource.write.keygenerator.class=org.apache.hudi.keygen.ComplexKeyGenerator
hoodie.datasource.write.hive_style_partitioning=true
hoodie.deltastreamer.schemaprovider.source.schema.file=s3://data-lake-demo-cevo/hudi/config/schema.avsc
hoodie.deltastreamer.source.dfs.root=s3://data-lake-demo-cevo/cdc-events/
hoodie.parquet.small.file.limit=134217728
"""
LEAST = {keys.RECORD_KEY: "order_id", keys.FILES_ROOT: "s3://landing/x/", keys.SCHEMA_FILE: "s.avsc"}


def decide(arguments: Sequence[str] | None = None, /, **changed: Any) -> tuple[Settings, list[str]]:
    """Decide from the minimal settings; keys have `__` for `.`."""
    given = dict(LEAST) | {key.replace("__", "."): str(value) for key, value in changed.items()}
    warnings: list[str] = []
    return settings.decide(command_line.parse([*NEEDED, *(arguments or [])]), given, warnings.append), warnings


def test_deltastreamers_properties_are_understood() -> None:
    warnings: list[str] = []
    given = properties.combine(properties.parse(DELTASTREAMER_PROPERTIES), [])
    decided = settings.decide(command_line.parse(DELTASTREAMER_LINE), given, warnings.append)
    table, sync = decided.table, decided.sync
    assert sync is not None
    assert isinstance(decided.source, FileSettings)
    assert decided.source.root == "s3://data-lake-demo-cevo/cdc-events"
    assert (table.database, table.name, table.hive_style) == ("datalake", "cdc_events", True)
    assert (table.key_fields, table.partition_fields) == (("order_id",), ("customer_id", "order_id"))
    assert table.key_generator == "org.apache.hudi.keygen.ComplexKeyGenerator"
    assert table.write_options["hoodie.parquet.small.file.limit"] == "134217728"
    assert table.write_options["hoodie.upsert.shuffle.parallelism"] == "2"
    # An order may go to another customer; only a global index finds its row in the old folder.
    assert table.write_options["hoodie.index.type"] == "GLOBAL_SIMPLE"
    assert (sync.database, sync.table, sync.partition_fields) == ("datalake", "cdc_events", ("customer_id", "order_id"))
    assert warnings == [
        "hoodie.datasource.hive_sync.jdbcurl is not used: the Glue catalogue is reached without a Hive server"
    ]


def test_the_jobs_own_files_are_understood() -> None:
    for name in ("cdc_events.properties", "cdc_events_partitioned.properties"):
        pairs = properties.load(str(CONF / name), lambda path: Path(path).read_text())
        given = properties.combine(pairs, [(keys.FILES_ROOT, "/x"), (keys.SCHEMA_FILE, "s.avsc")])
        decided = settings.decide(command_line.parse(NEEDED), given, lambda line: pytest.fail(line))
        assert decided.table.write_options["hoodie.metadata.enable"] == "false"


def test_defaults() -> None:
    decided, warnings = decide()
    assert warnings == []
    assert decided.quarantine_path == "s3://lake/_quarantine/t"
    assert (decided.quarantine_limit, decided.deletes_limit, decided.poll_seconds) == (1000, 20000, 1.0)
    assert decided.table.key_generator.endswith("NonpartitionedKeyGenerator")
    assert decided.sync is None
    assert isinstance(decided.source, FileSettings)
    assert (decided.source.root, decided.source.max_bytes) == ("s3://landing/x", None)


def test_kafka() -> None:
    decided, warnings = decide(
        ["--source-class", "org.apache.hudi.utilities.sources.JsonKafkaSource", "--source-limit", "9"],
        hoodie__streamer__source__kafka__topic="t",
        bootstrap__servers="localhost:9092",
        auto__offset__reset="latest",
        sasl__mechanism="AWS_MSK_IAM",
    )
    assert isinstance(decided.source, KafkaSettings)
    assert dict(decided.source.consumer) == {"bootstrap.servers": "localhost:9092", "sasl.mechanism": "AWS_MSK_IAM"}
    assert (decided.source.from_earliest, decided.source.max_events) == (False, 9)
    assert "AWS_MSK" not in repr(decided)
    assert warnings == ["hoodie.streamer.source.dfs.root is not used: it has no meaning for Kafka"]


def test_what_has_no_use_is_said() -> None:
    _, warnings = decide(bootstrap__servers="x:1")
    assert warnings == ["bootstrap.servers is not used: it has no meaning for JSON files"]
    _, warnings = decide(hoodie__streamer__source__kafka__topic="t")
    assert warnings == ["hoodie.streamer.source.kafka.topic is not used: it has no meaning for JSON files"]
    _, warnings = decide(hoodie__future__setting="1")
    assert warnings == ["hoodie.future.setting: Hudi 0.15 knows no such key; it is passed on all the same"]


KEYGEN = "hoodie__datasource__write__keygenerator__class"
PARTITION = "hoodie__datasource__write__partitionpath__field"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"hoodie__streamer__source__dfs__rot": "x"},
            "hoodie.streamer.source.dfs.rot: unknown property; did you mean hoodie.streamer.source.dfs.root?",
        ),
        ({"hoodie__streamer__nonsense": "1"}, "hoodie.streamer.nonsense: unknown property"),
        ({"hoodie__streamer__transformer__sql": "x"}, "hoodie.streamer.transformer.sql needs --transformer-class"),
        ({"hoodie__streamer__source__input__selector": "x"}, "hoodie.streamer.source.input.selector isn't supported"),
        (
            {"hoodie__streamer__schemaprovider__target__schema__file": "other"},
            "hoodie.streamer.schemaprovider.target.schema.file isn't supported without --transformer-class: ",
        ),
        (
            {"hoodie__datasource__write__operation": "insert"},
            "hoodie.datasource.write.operation=insert contradicts --op, which says upsert",
        ),
        (
            {"hoodie__datasource__write__precombine__field": "ts"},
            "hoodie.datasource.write.precombine.field=ts contradicts --source-ordering-field, which says __lsn",
        ),
        (
            {"hoodie__database__name": "other"},
            "hoodie.database.name=other contradicts --target-table, which says datalake",
        ),
        ({"hoodie__base__path": "s3://other/t"}, "contradicts --target-base-path, which says s3://lake/t"),
        (
            {"hoodie__errortable__enable": "true"},
            "hoodie.errortable.enable isn't supported: events that don't fit go to",
        ),
        (
            {"hoodie__clustering__async__enabled": "true"},
            "hoodie.clustering.async.enabled=true isn't supported: table services run inside the commit here",
        ),
        (
            {"hoodie__datasource__compaction__async__enable": "true"},
            "hoodie.datasource.compaction.async.enable=true isn't supported: table services run inside the commit here",
        ),
        (
            {"hoodie__cleaner__comits__retained": "3"},
            "hoodie.cleaner.comits.retained: Hudi knows no such key; did you mean hoodie.cleaner.commits.retained?",
        ),
        ({"hoodie__index__type": "BUCKETS"}, "hoodie.index.type=BUCKETS: say BLOOM or GLOBAL_BLOOM or SIMPLE or "),
        ({"hoodie__index__type": "INMEMORY"}, "hoodie.index.type=INMEMORY: say BLOOM or "),
        ({"hoodie__bucket__index__num__buckets": "abc"}, "num.buckets=abc: say a whole number from 1 to 100,000"),
        ({"hoodie__compact__inline__max__delta__commits": "2.0"}, "commits=2.0: say a whole number from 1 to "),
        ({"hoodie__cleaner__policy": "KEEP_ALL"}, "hoodie.cleaner.policy=KEEP_ALL: say KEEP_LATEST_COMMITS or "),
        ({"hoodie__simple__index__update__partition__path": "yes"}, "path=yes: say true or false"),
        ({"hoodie__metadata__enable": ""}, "hoodie.metadata.enable=: say true or false"),
        ({"hoodie__streamer__source__dfs__root": ""}, "hoodie.streamer.source.dfs.root is missing: JsonDFSSource"),
        ({"hoodie__datasource__write__recordkey__field": ""}, "recordkey.field is missing: a Hudi table needs it"),
        (
            {"hoodie__streamer__poll__interval__seconds": "0"},
            "poll.interval.seconds=0: say a number from 0.1 to 86,400",
        ),
        ({"hoodie__streamer__quarantine__max__records": "-1"}, "records=-1: say a whole number from 0 to 1,000,000"),
        ({"hoodie__datasource__write__hive_style_partitioning": "yes"}, "say true or false"),
        ({KEYGEN: "org.apache.hudi.keygen.TimestampBasedKeyGenerator"}, "TimestampBasedKeyGenerator isn't supported"),
        ({KEYGEN: "org.apache.hudi.keygen.SimpleKeyGenerator"}, "takes exactly one key field and one partition field"),
        ({KEYGEN: "org.apache.hudi.keygen.NonpartitionedKeyGenerator", PARTITION: "a"}, "contradicts"),
    ],
)
def test_refusals_name_the_key(changed: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        decide(**changed)
    assert message in str(refusal.value)


NUMBERS = {
    name: declared.number
    for name, declared in {
        **{option.key: option for option in command_line.ONE_TABLE.declared.values()},
        **settings.PROPERTIES,
        **settings.OF_MANY_TABLES,
    }.items()
    if declared.number
}


@pytest.mark.parametrize("name", NUMBERS)
def test_each_number_has_bounds(name: str) -> None:
    bounds = NUMBERS[name]

    def say(text: str) -> None:
        if name.startswith("--"):
            command_line.parse([*NEEDED, f"{name}={text}"])
        elif name in settings.OF_MANY_TABLES:
            own = "\n".join(f"{key}={value}" for key, value in LEAST.items())
            found = listed({"list.properties": f"{keys.TABLES}=a\n{name}={text}\n", "default_a_config.properties": own})
            assert found.parallel_commits
            first(found)
        else:
            decide([], **{name: text})

    for text in (f"{bounds.low}", f"{bounds.high}"):
        say(text)
    step = 1 if bounds.whole else 0.01
    kind = "whole number" if bounds.whole else "number"
    beyond = [f"{bounds.low - step:.2f}", f"{bounds.high + step:.2f}"]
    wrong = [
        *(text.removesuffix(".00") for text in beyond),
        "nan",
        "inf",
        "-inf",
        "many",
        "",
        "1_0",
        "٣",
        "0x1",
        "1e400",
    ]
    for text in [*wrong, *(["1.5"] if bounds.whole else [])]:
        with pytest.raises(SettingsError) as refusal:
            say(text)
        assert str(refusal.value) == f"{name}={text}: say a {kind} from {bounds.low:,} to {bounds.high:,}"


@pytest.mark.parametrize(("partitions", "name"), [("", "Nonpartitioned"), ("a", "Simple"), ("a,b", "Complex")])
def test_the_key_generator_follows_from_the_fields(partitions: str, name: str) -> None:
    decided, _ = decide(**{PARTITION: partitions})
    assert decided.table.key_generator == f"org.apache.hudi.keygen.{name}KeyGenerator"
    decided, _ = decide(**{PARTITION: partitions, "hoodie__datasource__write__keygenerator__type": "COMPLEX"})
    assert decided.table.key_generator == "org.apache.hudi.keygen.ComplexKeyGenerator"


def test_a_sync_can_be_switched_on_by_property_and_needs_a_database() -> None:
    decided, _ = decide(hoodie__datasource__hive_sync__enable="true")
    assert decided.sync is not None
    assert (decided.sync.database, decided.sync.table) == ("datalake", "t")
    assert not any("sync" in key for key in decided.table.write_options)
    arguments = [*NEEDED[:-1], "t", "--enable-sync"]
    with pytest.raises(SettingsError, match=r"hive_sync\.database is missing"):
        settings.decide(command_line.parse(arguments), LEAST, lambda _: None)


def test_kafka_needs_servers_and_a_known_start() -> None:
    kafka = ["--source-class", "JsonKafkaSource"]
    with pytest.raises(SettingsError, match=r"bootstrap\.servers is missing"):
        decide(kafka, hoodie__streamer__source__kafka__topic="t")
    kafka_settings = {"bootstrap__servers": "x:1", "hoodie__streamer__source__kafka__topic": "t"}
    older = {"hoodie__streamer__source__kafka__auto__reset__offsets": "group"}
    with pytest.raises(SettingsError, match="say EARLIEST or LATEST"):
        decide(kafka, **kafka_settings, **older)
    with pytest.raises(SettingsError, match=r"auto.offset.reset=EARLIEST and .*offsets=LATEST contradict each other"):
        decide(kafka, **kafka_settings, **dict.fromkeys(older, "latest"), auto__offset__reset="earliest")
    for given, from_earliest in [({}, False), ({"auto__offset__reset": "Earliest"}, True)]:
        decided, _ = decide(kafka, **kafka_settings, **given)
        assert isinstance(decided.source, KafkaSettings)
        assert decided.source.from_earliest is from_earliest


@pytest.mark.parametrize(
    "key",
    [
        "hoodie.streamer.source.dfs.datepartitioned.date.format",
        "hoodie.streamer.source.kafka.minPartitions",
        "hoodie.streamer.source.json.kafka.processor.class",
        "hoodie.streamer.source.cloud.data.datafile.format",
        "hoodie.streamer.source.gcs.project.id",
        "hoodie.streamer.source.pulsar.topic",
        "hoodie.streamer.source.sql.file",
        "hoodie.streamer.source.parquet.dfs.merge_schema.enable",
        "hoodie.streamer.source.incrpull.root",
        "hoodie.streamer.schemaprovider.source.schema.hive.database",
        "hoodie.streamer.schemaprovider.source.schema.jdbc.dbtable",
        "hoodie.streamer.schemaprovider.proto.class.name",
        "hoodie.streamer.schemaprovider.schema_post_processor",
        "hoodie.streamer.sample.writes.size",
        "hoodie.streamer.checkpoint.force.skip",
        "hoodie.streamer.ingestion.tablesToBeIngested",
        "hoodie.streamer.row.throw.explicit.exceptions",
    ],
)
def test_what_only_hoodie_streamer_has_is_refused_with_a_reason_of_its_own(key: str) -> None:
    with pytest.raises(SettingsError, match=rf"^{key} isn't supported: \w"):
        decide(**{key.replace(".", "__"): "x"})


def test_only_an_index_over_all_partitions_is_global() -> None:
    index = "hoodie__index__type"
    assert decide(**{PARTITION: "a"})[0].table.global_index
    record_index = decide(**{PARTITION: "a", index: "record_index"})[0].table
    assert (record_index.global_index, record_index.write_options[keys.INDEX_TYPE]) == (True, "RECORD_INDEX")
    assert not decide(**{PARTITION: "a", index: "BLOOM"})[0].table.global_index
    assert decide(**{index: "BLOOM"})[0].table.global_index  # a single partition is all
