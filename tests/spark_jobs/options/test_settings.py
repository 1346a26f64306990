"""Options and properties together: unknown and contradictory ones are refused, none is ignored silently."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from contract.events import READ_MS
from contract.history import COMMIT, VERSION
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
GENERATOR = f"{keys.KEY_GENERATOR}=org.apache.hudi.keygen"
LEAST = {keys.RECORD_KEY: "order_id", keys.FILES_ROOT: "s3://landing/x/", keys.SCHEMA_FILE: "s.avsc"}


def decide(*changed: str, arguments: Sequence[str] = ()) -> tuple[Settings, list[str]]:
    """Decide from the minimal settings, changed by `key=value`."""
    given = LEAST | dict(properties.parse_overrides(changed))
    warnings: list[str] = []
    return settings.decide(command_line.parse([*NEEDED, *arguments]), given, warnings.append), warnings


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


KAFKA = ["--source-class", "org.apache.hudi.utilities.sources.JsonKafkaSource"]
TOPIC = f"{keys.KAFKA_TOPIC}=t"


def test_kafka() -> None:
    decided, warnings = decide(
        *(TOPIC, "bootstrap.servers=localhost:9092", "auto.offset.reset=latest", "sasl.mechanism=AWS_MSK_IAM"),
        arguments=[*KAFKA, "--source-limit", "9", "--hoodie-conf", "sasl.jaas.config=IAMLoginModule required;"],
    )
    assert isinstance(decided.source, KafkaSettings)
    assert dict(decided.source.consumer) == {"bootstrap.servers": "localhost:9092", "sasl.mechanism": "AWS_MSK_IAM"}
    assert (decided.source.from_earliest, decided.source.max_events) == (False, 9)
    assert "AWS_MSK" not in repr(decided)
    assert warnings == ["hoodie.streamer.source.dfs.root is not used: it has no meaning for Kafka"]
    for start, from_earliest in (([], False), (["auto.offset.reset=Earliest"], True)):
        decided, _ = decide(TOPIC, "bootstrap.servers=x:1", *start, arguments=KAFKA)
        assert isinstance(decided.source, KafkaSettings)
        assert decided.source.from_earliest is from_earliest


LOADED = (
    *(f"{keys.FIRST_LOAD_SLOT}=s", f"{keys.FIRST_LOAD_PUBLICATION}=p"),
    *(f"{keys.JDBC_URL}=jdbc:postgresql://h/d", f"{keys.JDBC_TABLE}=public.t"),
)


def test_a_first_load_needs_the_order_of_the_log_and_files() -> None:
    assert decide(*LOADED)[0].first_load is not None
    other = "--source-ordering-field", "__source_ts_ms"
    with pytest.raises(SettingsError, match=f"^{' '.join(other)}: {keys.FIRST_LOAD_SLOT} needs __lsn"):
        decide(*LOADED, arguments=other)
    with pytest.raises(SettingsError, match=f"^{keys.FIRST_LOAD_PUBLICATION} needs {keys.FIRST_LOAD_SLOT}$"):
        decide(*LOADED[1:])
    decided, warnings = decide(TOPIC, "bootstrap.servers=x:1", *LOADED, arguments=KAFKA)
    assert decided.first_load is None
    assert f"{keys.FIRST_LOAD_SLOT} is not used: it has no meaning for Kafka" in warnings


@pytest.mark.parametrize(
    ("given", "warning"),
    [
        ("bootstrap.servers=x:1", "bootstrap.servers is not used: it has no meaning for JSON files"),
        (TOPIC, f"{keys.KAFKA_TOPIC} is not used: it has no meaning for JSON files"),
        ("hoodie.future.setting=1", "hoodie.future.setting: Hudi 0.15 knows no such key; it is passed on all the same"),
    ],
)
def test_what_has_no_use_is_said(given: str, warning: str) -> None:
    assert decide(given)[1] == [warning]


KEY, ONLY, KEPT = keys.RECORD_KEY, f"{keys.APPEND_ONLY}=true", f"{keys.HISTORY_KEPT}=true"
HISTORY = f"{keys.HISTORY_OF}=s3://lake/address"
BY_COMMIT, BY_READING = (["--source-ordering-field", name] for name in (COMMIT, READ_MS))
TRANSFORMED = ["--transformer-class", "SqlQueryBasedTransformer"]
REFUSED: Sequence[tuple[str, str]] = (
    ("hoodie.streamer.source.dfs.rot=x", ": unknown property; did you mean hoodie.streamer.source.dfs.root?"),
    ("hoodie.streamer.nonsense=1", ": unknown property"),
    ("hoodie.streamer.transformer.sql=x", "needs --transformer-class"),
    ("hoodie.streamer.source.input.selector=x", "isn't supported"),
    ("hoodie.streamer.schemaprovider.target.schema.file=other", "isn't supported without --transformer-class:"),
    ("hoodie.datasource.write.operation=insert", "=insert contradicts --op, which says upsert"),
    ("hoodie.datasource.write.precombine.field=ts", "=ts contradicts --source-ordering-field, which says __lsn"),
    ("hoodie.database.name=other", "=other contradicts --target-table, which says datalake"),
    ("hoodie.base.path=s3://other/t", "contradicts --target-base-path, which says s3://lake/t"),
    ("hoodie.errortable.enable=true", "isn't supported: events that don't fit go to"),
    ("hoodie.clustering.async.enabled=true", "=true isn't supported: table services run inside the commit here"),
    (
        "hoodie.datasource.compaction.async.enable=true",
        "=true isn't supported: table services run inside the commit here",
    ),
    ("hoodie.cleaner.comits.retained=3", ": Hudi knows no such key; did you mean hoodie.cleaner.commits.retained?"),
    ("hoodie.index.type=BUCKETS", "=BUCKETS: say BLOOM or GLOBAL_BLOOM or SIMPLE or"),
    ("hoodie.index.type=INMEMORY", "=INMEMORY: say BLOOM or"),
    ("hoodie.bucket.index.num.buckets=abc", "num.buckets=abc: say a whole number from 1 to 100,000"),
    ("hoodie.compact.inline.max.delta.commits=2.0", "commits=2.0: say a whole number from 1 to "),
    ("hoodie.cleaner.policy=KEEP_ALL", "=KEEP_ALL: say KEEP_LATEST_COMMITS or"),
    ("hoodie.simple.index.update.partition.path=yes", "path=yes: say true or false"),
    ("hoodie.metadata.enable=", "=: say true or false"),
    ("hoodie.streamer.source.dfs.root=", "is missing: JsonDFSSource"),
    ("hoodie.streamer.source.dfs.root=/", "say a value, or leave it out"),
    ("hoodie.streamer.quarantine.path=", "say a value, or leave it out"),
    ("hoodie.datasource.write.recordkey.field=", "recordkey.field is missing: a Hudi table needs it"),
    ("hoodie.datasource.write.hive_style_partitioning=yes", "say true or false"),
    (f"{GENERATOR}.TimestampBasedKeyGenerator", "TimestampBasedKeyGenerator isn't supported"),
    (f"{GENERATOR}.SimpleKeyGenerator", "takes exactly one key field and one partition field"),
    (f"{GENERATOR}.NonpartitionedKeyGenerator;{keys.PARTITION_PATH}=a", "contradicts"),
)


@pytest.mark.parametrize(
    ("changed", "arguments", "reason"),
    [
        *((changed, [], reason) for changed, reason in REFUSED),
        (f"{KEY}=order_id;{ONLY}", [], f"contradicts {ONLY}"),
        (f"{KEPT};{ONLY};{KEY}=__event_id", [], f"isn't supported with {keys.APPEND_ONLY}"),
        (f"{KEPT};{keys.TRANSFORMER_SQL}=S", TRANSFORMED, "isn't supported with --transformer-class"),
        (f"{KEY}=a,{COMMIT},b;{HISTORY}", BY_COMMIT, "a history's is its table's key and, behind it, "),
        (f"{KEY}={COMMIT},{VERSION};{HISTORY}", BY_COMMIT, "a history's is its table's key and, behind it, "),
        (f"{KEY}=ended,{COMMIT},{VERSION};{HISTORY}", BY_COMMIT, "column of each history: its table's is ended_"),
        (f"{keys.PARTITION_PATH}=b;{KEY}=a,{COMMIT},{VERSION};{HISTORY}", BY_COMMIT, "a history has no partitions"),
        (f"{keys.SQL_TABLES}=a=/a,a;{keys.SQL_QUERY}=S", BY_READING, "'a' isn't a table's name=path, each once"),
        (f"{keys.SQL_TABLES}=a=//;{keys.SQL_QUERY}=S", BY_READING, "=//: say a value, or leave it out"),
    ],
)
def test_refusals_name_the_key(changed: str, arguments: list[str], reason: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        decide(*changed.split(";"), arguments=arguments)
    assert str(refusal.value).startswith(changed.partition("=")[0])
    assert reason in str(refusal.value)


DECLARED = properties.declared_in(command_line.Options) | settings.PROPERTIES | settings.OF_MANY_TABLES
NUMBERS = {name: declared.number for name, declared in DECLARED.items() if declared.number}


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
            decide(f"{name}={text}")

    for text in (f"{bounds.low}", f"{bounds.high}"):
        say(text)
    step = 1 if bounds.whole else 0.01
    kind = "whole number" if bounds.whole else "number"
    beyond = [f"{bounds.low - step:.2f}", f"{bounds.high + step:.2f}"]
    wrong = [*(text.removesuffix(".00") for text in beyond), *("nan", "inf", "-inf", "many", "", "1_0", "٣")]
    wrong += ["0x1", "1e400"]
    for text in [*wrong, *(["1.5"] if bounds.whole else [])]:
        with pytest.raises(SettingsError) as refusal:
            say(text)
        assert str(refusal.value) == f"{name}={text}: say a {kind} from {bounds.low:,} to {bounds.high:,}"


@pytest.mark.parametrize(("partitions", "name"), [("", "Nonpartitioned"), ("a", "Simple"), ("a,b", "Complex")])
def test_the_key_generator_follows_from_the_fields(partitions: str, name: str) -> None:
    fields = f"{keys.PARTITION_PATH}={partitions}"
    assert decide(fields)[0].table.key_generator == f"org.apache.hudi.keygen.{name}KeyGenerator"
    asked, _ = decide(fields, f"{keys.KEY_GENERATOR_TYPE}=COMPLEX")
    assert asked.table.key_generator == "org.apache.hudi.keygen.ComplexKeyGenerator"


def test_a_sync_can_be_switched_on_by_property_and_needs_a_database() -> None:
    decided, _ = decide("hoodie.datasource.hive_sync.enable=true")
    assert decided.sync is not None
    assert (decided.sync.database, decided.sync.table) == ("datalake", "t")
    assert not any("sync" in key for key in decided.table.write_options)
    arguments = [*NEEDED[:-1], "t", "--enable-sync"]
    with pytest.raises(SettingsError, match=r"hive_sync\.database is missing"):
        settings.decide(command_line.parse(arguments), LEAST, lambda _: None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], r"bootstrap\.servers is missing"),
        (["bootstrap.servers=x:1", f"{keys.KAFKA_RESET}=group"], "say EARLIEST or LATEST"),
        (
            ["bootstrap.servers=x:1", f"{keys.KAFKA_RESET}=latest", "auto.offset.reset=earliest"],
            r"auto.offset.reset=EARLIEST and .*offsets=LATEST contradict each other",
        ),
    ],
)
def test_kafka_needs_servers_and_a_known_start(given: list[str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        decide(TOPIC, *given, arguments=KAFKA)


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
        decide(f"{key}=x")


def test_only_an_index_over_all_partitions_is_global() -> None:
    partitioned, bloom = f"{keys.PARTITION_PATH}=a", f"{keys.INDEX_TYPE}=BLOOM"
    assert decide(partitioned)[0].table.global_index
    record_index = decide(partitioned, f"{keys.INDEX_TYPE}=record_index")[0].table
    assert (record_index.global_index, record_index.write_options[keys.INDEX_TYPE]) == (True, "RECORD_INDEX")
    assert not decide(partitioned, bloom)[0].table.global_index
    assert decide(bloom)[0].table.global_index  # a single partition is all


@pytest.mark.parametrize(("index", "filters"), [("bucket", "false"), ("GLOBAL_SIMPLE", None), ("BLOOM", None)])
def test_files_lack_bloom_filters_where_the_index_cannot_become_one_that_reads_them(
    index: str, filters: str | None
) -> None:
    assert decide(f"{keys.INDEX_TYPE}={index}")[0].table.write_options.get(keys.BLOOM_FILTERS) == filters
