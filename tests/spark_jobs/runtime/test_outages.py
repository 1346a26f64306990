"""What counts as an outage, with the real clients' errors."""

import socket
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark.sql import SparkSession

from spark_jobs.errors import JobError
from spark_jobs.runtime.hadoop import Hadoop
from spark_jobs.runtime.retry import is_outage, may_be_a_value
from tests.spark_jobs.events import AWS

_ANONYMOUS = "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"


@pytest.fixture(scope="module")
def closed_port() -> Iterator[int]:
    """A loopback port without a listener, which no other process takes."""
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
    # Our own errors say that waiting is of no use, and so does a JVM that is gone.
    for wrapped, waits in ((RuntimeError("another"), True), (JobError("ours"), False), (Py4JNetworkError(), False)):
        wrapped.__cause__ = error
        assert is_outage(wrapped) == (outage and waits)


@pytest.mark.integration
def test_clients_without_a_server_are_outages(spark: SparkSession, closed_port: int) -> None:
    config = Config(retries={"max_attempts": 0}, proxies={})
    s3 = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{closed_port}", config=config, **AWS)
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

    cases: list[tuple[Callable[[], Any], bool]] = [
        (lambda: s3.list_objects_v2(Bucket="landing"), True),
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
