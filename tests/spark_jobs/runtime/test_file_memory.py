"""A commit's requests to S3 stay within bounds and don't grow, and no stale answer is remembered."""

import itertools
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from bench.job import CountedS3, by_verb, counted_s3, lay
from local.services.spark import s3a_settings
from operate.costs.prices import load_prices
from spark_jobs.runtime import hadoop
from spark_jobs.runtime.hadoop import Hadoop, remembering
from tests.cases import long
from tests.spark_jobs.events import TOPIC, as_lines, event
from tests.spark_jobs.lake import Lake

# A commit of two events took 192 to 240 requests and, with 20 folders, some 500, when all of Hudi's own went to S3.
MOST = {"cdc_events.properties": 92, "cdc_events_partitioned.properties": 290}
# Spark's jobs and tasks for a commit of two events in the default layout: 5 and 15 when each of them was shuffled.
MOST_WORK = (5, 10)


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[CountedS3]:
    configuration = Hadoop(spark).configuration
    with counted_s3(tmp_path_factory.mktemp("counted")) as server, pytest.MonkeyPatch.context() as patch:
        # Names that no other test uses: Hadoop keeps one FileSystem per bucket.
        buckets = ["counted-lake", "counted-landing"]
        server.create_buckets(buckets)
        for bucket, (key, value) in itertools.product(buckets, s3a_settings(server.endpoint).items()):
            name = key.removeprefix("spark.hadoop.fs.s3a.")
            if not name.startswith("spark."):
                configuration.set(f"fs.s3a.bucket.{bucket}.{name}", value)
        for name, value in {"ENDPOINT_URL_S3": server.endpoint, "ACCESS_KEY_ID": "x", "SECRET_ACCESS_KEY": "x"}.items():
            patch.setenv(f"AWS_{name}", value)
        # boto3's client reads it, too.
        endpoint = configuration.get("fs.s3a.endpoint")
        configuration.set("fs.s3a.endpoint", server.endpoint)
        yield server
        configuration.set("fs.s3a.endpoint", endpoint)


@pytest.mark.integration
def test_an_object_that_a_benchmark_lays_there_is_as_if_it_had_been_sent(s3: CountedS3) -> None:
    s3.client().put_object(Bucket="counted-landing", Key="sent", Body=b"text")
    lay(s3.objects / "counted-landing" / "laid", "text")
    sent, laid = (s3.client().head_object(Bucket="counted-landing", Key=key) for key in ("sent", "laid"))
    assert (laid["ETag"], laid["ContentLength"]) == (sent["ETag"], sent["ContentLength"])


def tasks_by_job(spark: SparkSession) -> dict[int, int]:
    """The newest of Spark's jobs, each with its number of tasks."""
    context: Any = spark._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    found = context.statusStore().jobsList(None)
    jobs = [found.apply(index) for index in range(min(found.size(), 100))]
    return {job.jobId(): job.numCompletedTasks() for job in jobs}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("conf", "commits"),
    [("cdc_events.properties", 3), long("cdc_events.properties", 12), long("cdc_events_partitioned.properties", 3)],
)
def test_requests_per_commit(spark: SparkSession, s3: CountedS3, tmp_path: Path, conf: str, commits: int) -> None:
    name = f"{conf.removesuffix('.properties')}{commits}"
    root = f"s3a://counted-landing/{name}"
    lake = Lake(spark, tmp_path, conf=conf, extra={"hoodie.streamer.source.dfs.root": root})
    lake.arguments = ("--target-base-path", f"s3a://counted-lake/{name}")
    last = -1

    def land(*events: dict[str, Any]) -> None:
        nonlocal last
        last += len(events)
        key = f"{name}/{TOPIC}/0/{last:012d}_1_2.json"
        s3.client().put_object(Bucket="counted-landing", Key=key, Body=as_lines(events).encode())

    land(*(event(order, 100 + order, "c", customer_id=f"C{order % 3}") for order in range(20)))
    job = lake.job()
    assert job.run_batch() is not None
    counts, work = [], []
    for number in range(commits):
        land(*(event(order, 200 + last, customer_id=f"C{order % 3}") for order in (number, number + 1)))
        s3.taken()
        before = max(tasks_by_job(spark))
        report = job.run_batch()
        assert report is not None
        assert report.upserts == 2
        counts.append(by_verb(s3.taken()))
        tasks = [count for job_id, count in tasks_by_job(spark).items() if job_id > before]
        work.append((len(tasks), sum(tasks)))
    assert lake.log == []
    totals = [sum(count.values()) for count in counts]
    assert statistics.median(totals) <= MOST[conf], totals
    # Flat, except every tenth commit, which removes old files.
    assert statistics.median(totals[-3:]) <= max(totals[:3]) + 10, totals
    if conf == "cdc_events.properties":
        assert statistics.median_low(work) <= MOST_WORK, work
        priced = load_prices().job_requests
        assert statistics.mean(count["LIST"] + count["PUT"] for count in counts) <= priced["puts_and_lists"]
        assert statistics.mean(count["HEAD"] + count["GET"] for count in counts) <= priced["reads"]


@pytest.mark.integration
def test_what_has_changed_is_not_remembered(spark: SparkSession, s3: CountedS3) -> None:
    hadoop, log = Hadoop(spark), list[str]()
    table = "s3a://counted-lake/changing/.hoodie"
    memory = remembering(hadoop, [table], log.append)
    memory.forget()
    client, key = s3.client(), "changing/.hoodie/hoodie.properties"
    assert not hadoop.exists(f"{table}/hoodie.properties")
    client.put_object(Bucket="counted-lake", Key=key, Body=b"a=1")
    assert hadoop.exists(f"{table}/hoodie.properties")
    assert hadoop.read_text(f"{table}/hoodie.properties") == "a=1"
    client.put_object(Bucket="counted-lake", Key=key, Body=b"a=2")
    memory.forget()
    assert hadoop.read_text(f"{table}/hoodie.properties") == "a=2"
    hadoop.write_text(f"{table}/hoodie.properties", "a=3")
    assert hadoop.read_text(f"{table}/hoodie.properties") == "a=3"
    hadoop.delete(table)
    assert not hadoop.exists(f"{table}/hoodie.properties")
    assert not hadoop.exists(table)
    # A missing instant, and a truncated one: a rollback, and the repair of a torn one.
    instant = f"{table}/20261121023013007.commit"
    hadoop.write_text(instant, "{}")
    assert hadoop.read_text(instant) == "{}"
    hadoop.delete(instant)
    with pytest.raises(Exception, match="FileNotFound"):
        hadoop.read_text(instant)
    # An object rewritten between two batches has its new size.
    client.put_object(Bucket="counted-landing", Key="changing/a.json", Body=b"{}\n")
    remembering(hadoop, ["s3a://counted-landing/changing"], log.append)
    assert spark.read.text("s3a://counted-landing/changing/a.json").count() == 1
    client.put_object(Bucket="counted-landing", Key="changing/a.json", Body=b"{}\n{}\n{}\n")
    remembering(hadoop, ["s3a://counted-landing/changing"], log.append).forget()
    assert spark.read.text("s3a://counted-landing/changing/a.json").count() == 3
    assert log == []


@pytest.mark.integration
def test_a_listing_is_remembered_until_the_only_writer_changes_it(spark: SparkSession, s3: CountedS3) -> None:
    hadoop, log = Hadoop(spark), list[str]()
    table = "s3a://counted-lake/listed"
    timeline = f"{table}/.hoodie"
    memory = remembering(hadoop, [table], log.append)

    def names() -> str:
        return "".join(sorted(hadoop.sizes_in(timeline)))

    def others(name: str) -> None:
        s3.client().put_object(Bucket="counted-lake", Key=f"listed/.hoodie/{name}", Body=b"{}")

    others("a")
    with memory.only_writer(timeline):
        found = [names()]
        others("b")
        found.append(names())
        hadoop.write_text(f"{timeline}/c", "{}")
        found.append(names())
        others("d")
        hadoop.delete(f"{timeline}/c")
        found.append(names())
        hadoop.system(timeline).rename(hadoop._path(f"{timeline}/d"), hadoop._path(f"{timeline}/e"))
        found.append(names())
        hadoop.write_text(f"{timeline}/.temp/1/x", "{}")
        others("f")
        found.append(names())
    assert found == ["a", "a", "abc", "abd", "abe", "abe"]
    assert names() == ".tempabef"
    assert log == []


@pytest.mark.integration
def test_a_table_that_looks_again_leaves_what_is_known_of_others(spark: SparkSession, s3: CountedS3) -> None:
    hadoop, log = Hadoop(spark), list[str]()
    memories = {name: remembering(hadoop, [f"s3a://counted-lake/{name}"], log.append) for name in ("one", "one-more")}
    paths = {name: f"s3a://counted-lake/{name}/.hoodie/hoodie.properties" for name in memories}
    for path in paths.values():
        hadoop.write_text(path, "a=1")
        hadoop.read_text(path)
    s3.taken()
    memories["one"].forget()
    assert [hadoop.read_text(path) for path in paths.values()] == ["a=1", "a=1"]
    assert {"/one-more/" in request.target for request in s3.taken()} == {False}
    assert log == []


def test_elsewhere_and_with_another_hadoop_the_job_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AttributeError("no such method\nand more")

    monkeypatch.setattr(hadoop, "_installed", refused)
    log: list[str] = []
    nothing: Any = None
    remembering(nothing, ["/lake", "hdfs://lake", "file:///lake"], log.append).forget()
    assert log == []
    remembering(nothing, ["s3://lake/t"], log.append).forget()
    assert log == ["more requests to S3 than needed: AttributeError: no such method"]
