"""The job's two inputs on real servers: a Kafka topic, and objects on S3."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from local.services.aws import S3
from local.services.kafka import Kafka
from local.services.kafka_rights import READER, acls
from local.services.spark import s3a_settings
from plugins.kafka.topics import PlannedTopic, reader_access
from spark_jobs.errors import JobError, SettingsError
from spark_jobs.options import keys
from spark_jobs.options.settings import KafkaSettings
from spark_jobs.runtime.hadoop import Hadoop
from spark_jobs.sources.kafka import JsonKafka, KafkaBatch, limited, read_offsets
from spark_jobs.sources.listing import HadoopLister, S3Lister, SharedListing, lister_for
from spark_jobs.table.claim import HadoopClaims, S3Claims, claim_store
from tests.broker import running_broker
from tests.spark_jobs.events import as_lines, event
from tests.spark_jobs.lake import Lake
from tests.spark_jobs.programs import Storage
from tests.waiting import PATIENCE_S


@dataclass
class Services:
    kafka: Kafka
    s3: S3

    def produce(self, topic: str, *events: dict[str, Any] | str | None, partition: int = 0) -> None:
        producer = Producer(self.kafka.client())
        for one in events:
            producer.produce(topic, None if one is None else as_lines([one]).rstrip("\n"), partition=partition)
        assert producer.flush(PATIENCE_S) == 0


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    folder = tmp_path_factory.mktemp("services")
    storage = Storage(folder / "s3")
    with running_broker(folder, READER) as broker:
        try:
            storage.start()
            broker.kafka.sync_acls(acls(READER, reader_access()))
            yield Services(broker.kafka, storage.s3)
        finally:
            storage.stop()


@pytest.mark.integration
def test_a_topic_is_read_from_where_the_table_is(lake: Lake, services: Services) -> None:
    topic = "kafka_to_table"
    lake.arguments = ("--source-class", "org.apache.hudi.utilities.sources.JsonKafkaSource")
    one_run = lake.arguments
    lake.arguments = (*one_run, "--continuous")
    lake.extra = {
        "hoodie.deltastreamer.source.kafka.topic": topic,
        "bootstrap.servers": services.kafka.bootstrap_servers,
        # With read permission only.
        **services.kafka.users.java_login(READER),
        "auto.offset.reset": "earliest",
    }
    job = lake.job()
    assert [job.run_batch(), job.run_batch()] == [None, None]  # the topic doesn't exist yet
    missing = f"hoodie.streamer.source.kafka.topic={topic}: no such topic on {services.kafka.bootstrap_servers}"
    assert lake.log.count(f"{missing} yet; the job waits for it") == 1
    lake.arguments = one_run
    with pytest.raises(SettingsError, match=missing):
        lake.job().run_batch()
    services.kafka.create_topics([PlannedTopic(name=topic, partitions=1, replicas=1)])
    services.produce(topic, event(1, 10, "c"), event(2, 20, "c"), "{broken", None, event(1, 30))
    report = lake.run(job=job)
    assert (report.files, report.events, report.quarantined, report.upserts) == (1, 4, 1, 2)
    assert lake.lsns() == {1: 30, 2: 20}
    assert lake.table().progress()["deltastreamer.checkpoint.key"] == f"{topic},0:5"
    [entry] = lake.quarantined()
    assert (entry["origin"], entry["offset"], entry["text"]) == (f"{topic}/0", 2, "{broken")
    assert job.run_batch() is None

    # A restart continues from the commit; --source-limit counts events.
    services.produce(topic, event(3, 40, "c"), event(3, 50), event(1, 60, "d"), event(3, 70, products="x" * 3000))
    lake.arguments = (*lake.arguments, "--source-limit", "3")
    lake.extra |= {keys.LINE_BYTES: "3000"}
    job = lake.job()
    batches = [job.run_batch(), job.run_batch(), job.run_batch()]
    assert [batch and batch.events for batch in batches] == [3, 1, None]
    assert lake.lsns() == {2: 20, 3: 50}
    assert re.search(r"xxx… \(\d{4} bytes, more than .*=3000\)$", lake.quarantined()[-1]["text"])

    # Progress beyond the topic's end belongs to another topic: continuing would skip events.
    lake.arguments = (*lake.arguments, "--checkpoint", f"{topic},0:100")
    with pytest.raises(JobError, match="it was created again; start over with --ignore-checkpoint"):
        lake.job().run_batch()


@pytest.mark.integration
def test_objects_on_s3_are_listed_alike_by_both_listers(
    spark: SparkSession, services: Services, tmp_path: Path
) -> None:
    services.s3.create_buckets(["landing"])
    client = services.s3.client()
    names = ["t/0/000000000001_1_2.json", "customer_id=[missing]/order_id=1/t(0_000000000002).json", ".indexes/x"]
    for name in names:
        client.put_object(Bucket="landing", Key=f"cdc/{name}", Body=as_lines([event(1, 1)]).encode())
    configuration = Hadoop(spark).configuration
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}.items():
            patch.setenv(name, value)
        for key, value in s3a_settings(services.s3.endpoint).items():
            configuration.set(key.removeprefix("spark.hadoop."), value)
        hadoop = Hadoop(spark)
        lister, note = lister_for("s3a://landing/cdc", hadoop, SharedListing())
        assert isinstance(lister, S3Lister)
        assert note is None
        files = {file.name: file for file in lister.all()}
        assert sorted(files) == sorted(names[:2])
        through_hadoop = {file.name: file for file in HadoopLister("s3a://landing/cdc", hadoop).all()}
        assert {name: file.size for name, file in through_hadoop.items()} == {n: f.size for n, f in files.items()}
        assert {file.path for file in through_hadoop.values()} == {file.path for file in files.values()}
        after = lister.after({"t/0": "t/0/000000000001_1_2.json"})
        assert {file.name for file in after} == {names[1]}
        store = claim_store("s3a://landing/_claims/t", hadoop)
        assert isinstance(store, S3Claims)
        through_hadoop_too = HadoopClaims(hadoop, "s3a://landing/_claims/t", settle_seconds=0)
        assert [store.create("1.json", "a"), store.create("1.json", "b"), store.names()] == [True, False, ["1.json"]]
        assert [through_hadoop_too.create("1.json", "c"), through_hadoop_too.read("1.json")] == [False, "a"]
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(store.create, ["2.json"] * 8, map(str, range(8)))).count(True) == 1
        lake = Lake(spark, tmp_path, extra={"hoodie.streamer.source.dfs.root": "s3a://landing/cdc"})
        report = lake.run()
        assert report.files == 2
        assert lake.lsns() == {1: 1}


@pytest.mark.parametrize(
    ("ends", "start", "line"),
    [
        # A later attempt, and a partition that came since then.
        ([{0: 5}, {0: 5}, {0: 7, 1: 2}], {0: 5, 1: 0}, "so reading starts at the topic's end; auto.offset.reset"),
        # A topic that wasn't there then, and one that was made again.
        ([{}, {0: 7}], {0: 0}, "no such topic on x:1 yet"),
        ([{0: 9}, {0: 7}], {0: 0}, "so reading starts at the topic's end"),
    ],
)
def test_a_topic_read_from_its_first_end_on_loses_nothing_that_comes_after(
    ends: list[dict[int, int]], start: dict[int, int], line: str
) -> None:
    settings = KafkaSettings(
        line_bytes=20_000_000,
        topic="t",
        consumer={"bootstrap.servers": "x:1"},
        from_earliest=False,
        max_events=100,
        fail_on_loss=False,
        must_exist=False,
    )
    first_seen, log = dict[tuple[str, str], dict[int, int]](), list[str]()
    batches = []
    for end in ends:
        source = JsonKafka(cast(Any, None), settings, log=log.append, ends=first_seen)
        source._bounds = Mock(return_value=(dict.fromkeys(end, 0), end))  # type: ignore[method-assign]
        batches.append(source.next_batch(None))
    assert not any(batches[:-1])
    assert batches[-1] is not None
    assert (batches[-1].start, batches[-1].stop) == (start, ends[-1])
    assert len(log) == 1
    assert line in log[0]


def test_offsets_have_hoodie_streamers_form() -> None:
    assert read_offsets("a.b,0:5,10:7", "a.b") == {0: 5, 10: 7}
    assert KafkaBatch(Mock(), Mock(topic="a.b"), {}, {10: 7, 0: 5}, {}).checkpoint == "a.b,0:5,10:7"
    for text in ("other,0:5", "a.b", "a.b,0", "a.b,0:-5", "1700000000000", '{"version":1}'):
        with pytest.raises(SettingsError, match="isn't one of topic a"):
            read_offsets(text, "a.b")


@pytest.mark.parametrize(
    ("end", "most", "stop"),
    [
        ({0: 10, 1: 10}, 100, {0: 10, 1: 10}),
        ({0: 100, 1: 4}, 20, {0: 16, 1: 4}),
        ({0: 100, 1: 100}, 3, {0: 2, 1: 1}),
        ({0: 0, 1: 0}, 5, {0: 0, 1: 0}),
    ],
)
def test_a_limit_is_shared_among_partitions(end: dict[int, int], most: int, stop: dict[int, int]) -> None:
    assert limited({0: 0, 1: 0}, end, most) == stop
