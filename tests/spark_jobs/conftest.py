"""One Spark session with Hudi for all integration tests of the job, and their starting points."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from moto.server import ThreadedMotoServer
from pyspark.sql import SparkSession

from local.services.postgres import ConnectionParameters, Postgres
from local.services.spark import job_settings
from local.setup.java import java_home
from spark_jobs.decoding import batch_decoder, schema
from spark_jobs.decoding.decode import Decoder
from spark_jobs.decoding.schema import Column
from spark_jobs.runtime import session
from tests.conftest import execute, fresh_database
from tests.spark_jobs import programs
from tests.spark_jobs.events import EVENTS, SCHEMA, aws_environment, glue_client
from tests.spark_jobs.lake import Lake
from tests.spark_jobs.programs import JobRun


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """pyspark leaves closing the socket that `collect` reads from to the garbage collector."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(scope="session")
def glue_endpoint() -> Iterator[str]:
    """A Glue on loopback (moto)."""
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def empty_glue(glue_endpoint: str) -> str:
    """The same Glue without the lake's database, which an earlier test may have created."""
    client = glue_client(glue_endpoint)
    with contextlib.suppress(client.exceptions.EntityNotFoundException):
        client.delete_database(Name="datalake")
    return glue_endpoint


class SharedDecoders:
    """Creates each decoder once: it depends only on its arguments, and most tests' tables have the same columns.

    Building a decoder's expressions takes Python and the JVM a sixth of the CPU of a small batch.
    """

    def __init__(self) -> None:
        self._made: dict[frozenset[tuple[str, Any]], Decoder] = {}

    def __call__(self, columns: Sequence[Column], **settings: Any) -> Decoder:
        if settings["unplaceable"]:
            return Decoder(columns, **settings)
        settings["unusable"] = frozenset(settings["unusable"])
        known = frozenset({"columns": tuple(columns), **settings}.items())
        if known not in self._made:
            self._made[known] = Decoder(columns, **settings)
        return self._made[known]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory, glue_endpoint: str) -> Iterator[SparkSession]:
    """A session on two cores, set up like the job's own."""
    # Room for a batch's garbage: with Java's initial heap it collects every other batch.
    heap = ["-Xms1g", "-Xmn512m"]
    # The last zone counts, as of a job that is started without our flags; its commits are in UTC even so.
    ahead = "-Duser.timezone=Asia/Tokyo"
    submit = job_settings(tmp_path_factory.mktemp("spark"), [*programs.class_archive_flags(), *heap, ahead], "1g")
    quoted = " ".join(f'--conf "{key}={value}"' for key, value in submit.items())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_HOME", str(java_home()))
        patch.setenv("PYSPARK_SUBMIT_ARGS", f"{quoted} pyspark-shell")
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.delenv("SPARK_CONF_DIR", raising=False)
        for name, value in aws_environment(glue_endpoint).items():
            patch.setenv(name, value)
        spark = session.start("tests", "local[2]")
    spark.sparkContext.setLogLevel("ERROR")
    gateway: Any = spark.sparkContext._gateway
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_decoder, "Decoder", SharedDecoders())
        yield spark
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(30)


@pytest.fixture(scope="session")
def java_options(tmp_path_factory: pytest.TempPathFactory, glue_endpoint: str) -> list[str]:
    """Options for a faster start of a job's JVM: the archive of its classes, created first if none fits."""
    programs.make_class_archive(tmp_path_factory.mktemp("classes"), glue_endpoint)
    return programs.class_archive_flags()


@pytest.fixture
def job_run(tmp_path: Path, glue_endpoint: str, java_options: list[str]) -> Iterator[JobRun]:
    job_run = JobRun(tmp_path, glue_endpoint, java_options)
    yield job_run
    job_run.end()


@pytest.fixture(scope="session")
def typed_source(postgres: Postgres) -> Iterator[ConnectionParameters]:
    """The database of tests/events/every_type.sql, of which Debezium's events were recorded; tests only read it."""
    with fresh_database(postgres) as parameters:
        for part in (EVENTS / "every_type.sql").read_text(encoding="utf-8").split("-- changes\n"):
            execute(parameters, part)
        yield parameters


@pytest.fixture(scope="session")
def columns() -> tuple[Column, ...]:
    """The columns of the outbox table's events."""
    return schema.parse(SCHEMA.read_text(), str(SCHEMA))


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    """An empty lake in the default layout."""
    return Lake(spark, tmp_path)
