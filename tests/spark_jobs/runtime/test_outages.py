"""What counts as an outage, by the real clients' errors, and a real job that outlives one."""

import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from local.services.processes import Processes
from local.services.s3 import S3
from local.setup.ports import choose
from spark_jobs.runtime.hadoop import Hadoop
from spark_jobs.runtime.retry import is_outage, may_be_a_value
from tests.spark_jobs import class_archive
from tests.spark_jobs.conftest import CONF, SCHEMA, TOPIC, as_lines, event
from tests.spark_jobs.test_streamer import Job

START_S = 180
_ANONYMOUS = "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"


@pytest.fixture(scope="module")
def closed_port() -> Iterator[int]:
    """A port of loopback that nothing listens on, and nothing else takes."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def answer(status: int, code: str) -> ClientError:
    response: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "ListObjectsV2")


@pytest.mark.parametrize(
    ("error", "outage"),
    [
        (ConnectionRefusedError("refused"), True),
        (TimeoutError(), True),
        (answer(503, "SlowDown"), True),
        (answer(500, "InternalError"), True),
        (answer(400, "ExpiredToken"), True),
        (answer(403, "AccessDenied"), False),
        (answer(404, "NoSuchBucket"), False),
        (ValueError("a value"), False),
        (FileNotFoundError("a file"), False),
    ],
)
def test_pythons_errors(error: Exception, outage: bool) -> None:
    assert is_outage(error) == outage
    wrapped = RuntimeError("by way of another")
    wrapped.__cause__ = error
    assert is_outage(wrapped) == outage


@pytest.mark.integration
def test_boto3_without_a_server_is_an_outage(closed_port: int) -> None:
    client = boto3.client(
        "s3",
        endpoint_url=f"http://127.0.0.1:{closed_port}",
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",
        config=Config(retries={"max_attempts": 0}, proxies={}),
    )
    with pytest.raises(Exception, match="Could not connect") as raised:
        client.list_objects_v2(Bucket="landing")
    assert is_outage(raised.value)


@pytest.mark.integration
def test_the_jvms_clients_without_a_server_are_outages(spark: SparkSession, closed_port: int) -> None:
    hadoop = Hadoop(spark)
    for key, value in {"endpoint": f"http://127.0.0.1:{closed_port}", "attempts.maximum": "1"}.items():
        hadoop.configuration.set(f"fs.s3a.bucket.nowhere.{key}", value)
    hadoop.configuration.set("fs.s3a.bucket.nowhere.aws.credentials.provider", _ANONYMOUS)
    hadoop.configuration.set("fs.s3a.bucket.nowhere.retry.limit", "0")

    def s3a() -> Any:
        return hadoop.exists("s3a://nowhere/lake/.hoodie/hoodie.properties")

    def rows() -> Any:
        return spark.read.text("s3a://nowhere/landing/a.json").collect()

    def kafka(servers: str) -> Callable[[], Any]:
        settings = hadoop.jvm.java.util.HashMap()
        serializer = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
        settings.update({"key.deserializer": serializer, "value.deserializer": serializer})
        settings.update({"bootstrap.servers": servers, "default.api.timeout.ms": "500"})
        return lambda: hadoop.jvm.org.apache.kafka.clients.consumer.KafkaConsumer(settings).partitionsFor("topic")

    cases = [
        (s3a, True),
        (rows, True),
        (kafka(f"127.0.0.1:{closed_port}"), True),
        (kafka("no-such-host.invalid:9092"), True),
        (lambda: hadoop.read_text("/no/such/file"), False),
        (lambda: spark.sql("SELECT no_such_column"), False),
    ]
    for number, (do, outage) in enumerate(cases):
        with pytest.raises(Exception, match=r".") as raised:
            do()
        assert is_outage(raised.value) == outage, number


@pytest.mark.integration
def test_what_a_value_may_have_caused(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    lang, failed = jvm.java.lang, jvm.org.apache.spark.SparkException
    cases = [
        (lang.ArithmeticException("long overflow"), True),
        (lang.StackOverflowError(), True),
        (lang.OutOfMemoryError("heap"), False),
        (jvm.java.net.SocketTimeoutException("read"), False),
        (jvm.java.io.IOException("a file"), False),
        (failed("executor lost", None), False),
    ]
    for cause, may_be in cases:
        error = Py4JJavaError("", java_exception=failed("stage failure", lang.RuntimeException(cause)))
        assert may_be_a_value(error) == may_be, cause.toString()
    assert not may_be_a_value(ValueError("of our own code"))


class Storage:
    """An S3 endpoint that can be taken away and given back."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.s3 = S3(folder, port=choose(["s3"], earlier={})["s3"])
        self.processes = Processes(folder, folder / "logs")

    def start(self) -> None:
        self.processes.start("s3", self.s3.prepare())
        self.processes.wait_until("s3", self.s3.ready, timeout_s=START_S)

    def stop(self) -> None:
        self.processes.stop("s3", grace_s=10)


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    storage = Storage(tmp_path / "s3")
    yield storage
    storage.stop()


@pytest.mark.integration
def test_a_job_waits_for_s3_at_its_start_and_at_work(tmp_path: Path, storage: Storage, glue_endpoint: str) -> None:
    storage.start()
    storage.s3.create_buckets(["landing", "lake"])
    client = storage.s3.client()
    client.put_object(Bucket="lake", Key="conf/schema.avsc", Body=SCHEMA.read_bytes())

    def land(offset: int) -> None:
        body = as_lines([event(offset, 100 + offset, "c")]).encode()
        client.put_object(Bucket="landing", Key=f"cdc/{TOPIC}/0/{offset:012d}_1_2.json", Body=body)

    land(0)
    storage.stop()
    arguments = [
        *(
            "--table-type",
            "COPY_ON_WRITE",
            "--target-table",
            "datalake.cdc_events",
            "--target-base-path",
            "s3a://lake/t",
        ),
        *("--props", str(CONF / "cdc_events.properties")),
        *("--hoodie-conf", "hoodie.streamer.source.dfs.root=s3a://landing/cdc"),
        *("--hoodie-conf", "hoodie.streamer.schemaprovider.source.schema.file=s3a://lake/conf/schema.avsc"),
        # Not one attempt may be counted, and none be long in coming.
        *("--continuous", "--max-retry-count", "0", "--retry-interval-seconds", "1"),
    ]
    endpoint, java_options = storage.s3.endpoint, class_archive.flags()
    job = Job(tmp_path, arguments, glue_endpoint, s3_endpoint=endpoint, java_options=java_options)
    try:
        job.wait_for(lambda: "attempt 1 failed" in job.output.read_text(), "failed attempt at the start")
        time.sleep(3)
        storage.start()
        job.wait_for(job.commits, "commit")
        known = len(job.output.read_text())
        storage.stop()
        job.wait_for(lambda: "attempt 1 failed" in job.output.read_text()[known:], "failed attempt at work")
        time.sleep(3)
        storage.start()
        land(1)
        job.wait_for(lambda: len(job.commits()) == 2, "commit after the outage")
        assert job.terminate(signal.SIGTERM) == 0
    finally:
        job.end()
    assert [commit["events"] for commit in job.commits()] == ["1", "1"]
    assert job.output.read_text().count("works again, after ") == 2
    assert "Traceback" not in job.output.read_text()
