"""One Spark session with Hudi for all integration tests of the job, and builders of events and jobs."""

import contextlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto.server import ThreadedMotoServer
from pyspark.sql import SparkSession

from local.services.spark import job_class_path, spark_flags
from local.setup.java import java_home
from spark_jobs.decoding import batch_decoder, schema
from spark_jobs.decoding.decode import Decoder
from spark_jobs.decoding.schema import Column
from spark_jobs.ingest import Ingest
from spark_jobs.options import command_line, properties, settings
from spark_jobs.options.settings import Settings
from spark_jobs.report import CommitReport
from spark_jobs.runtime import session
from spark_jobs.table.hudi_table import HudiTable
from spark_jobs.table_job import SharedParts, build_ingest
from tests.spark_jobs import class_archive

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient

ROOT = Path(__file__).resolve().parents[2]
CONF = ROOT / "spark_jobs" / "conf"
SCHEMA = ROOT / "pipelines" / "orders" / "cdc_events.avsc"
EVENTS = ROOT / "tests" / "events"
TOPIC = "demo.datalake.cdc_events"
_offsets = itertools.count()

Event = dict[str, Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """pyspark leaves the closing of the socket that `collect` reads from to the garbage collector."""
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
    """The same Glue without the lake's database, whichever test has made it before."""
    client = _glue(glue_endpoint)
    with contextlib.suppress(client.exceptions.EntityNotFoundException):
        client.delete_database(Name="datalake")
    return glue_endpoint


class SharedDecoders:
    """Makes decoders, each once: a decoder is what it is made of, and most tests' tables have the same columns.

    To build one's expressions takes Python and the JVM a sixth of the CPU of a small batch.
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
    """A session on two cores, set up as the job sets up its own."""
    scratch = tmp_path_factory.mktemp("spark")
    # Room for what a batch leaves behind: in the heap that Java begins with it collects every other batch.
    heap = ["-Xms1g", "-Xmn512m"]
    flags = " ".join([*spark_flags(), *class_archive.flags(), *heap, f"-Dderby.system.home={scratch}"])
    submit = {
        "spark.driver.extraClassPath": job_class_path(),
        "spark.driver.extraJavaOptions": flags,
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.sql.ui.explainMode": "simple",
        "spark.ui.showConsoleProgress": "false",
    }
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
def columns() -> tuple[Column, ...]:
    """The columns of the outbox table's events."""
    return schema.parse(SCHEMA.read_text(), str(SCHEMA))


def aws_environment(glue_endpoint: str) -> dict[str, str]:
    """What AWS's clients need to talk to moto."""
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true"}
    return keys | {"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL_GLUE": glue_endpoint}


def _glue(endpoint: str) -> "GlueClient":
    return boto3.client(
        "glue", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x"
    )


def glue_table(endpoint: str) -> dict[str, Any]:
    """The lake's table as Glue has it, with its partitions' values."""
    client = _glue(endpoint)
    table: dict[str, Any] = dict(client.get_table(DatabaseName="datalake", Name="cdc_events")["Table"])
    pages = client.get_paginator("get_partitions").paginate(DatabaseName="datalake", TableName="cdc_events")
    table["partitions"] = sorted(tuple(entry["Values"]) for page in pages for entry in page["Partitions"])
    return table


def event(order_id: int, lsn: int, op: str = "u", **fields: Any) -> Event:
    """A change event of the shape that Debezium gives it (tests/events)."""
    return {
        "order_id": order_id,
        "customer_id": "VINET",
        "order_date": 20777,
        "required_date": 20800,
        "shipped_date": None,
        "order_items": '[{"discount": 0, "quantity": 12, "product_id": 11, "unit_price": 14}]',
        "products": "[]",
        "customer": '{"customer_id": "VINET"}',
        "employee": '{"employee_id": 5}',
        "shipper": "{}",
        "shipment": "{}",
        "updated_at": "2026-11-20T23:23:11.083659Z",
        "__deleted": "true" if op == "d" else "false",
        "__op": op,
        "__db": "devdb",
        "__table": "cdc_events",
        "__schema": "datalake",
        "__lsn": lsn,
        "__source_ts_ms": 1795216992726,
    } | fields


def has_cached(spark: SparkSession) -> bool:
    """Whether the session keeps a frame in memory."""
    shared: Any = spark._jsparkSession.sharedState()
    return not shared.cacheManager().isEmpty()


def captured(case: str) -> list[str]:
    """The values of a captured case, as they were on the topic."""
    return (EVENTS / f"{case}.jsonl").read_text().splitlines()


def as_lines(events: Sequence[Event | str]) -> str:
    """Events as JSON lines; a text stands for itself."""
    return "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in events)


@dataclass
class Lake:
    """A landing folder, a table and the job's settings; runs batches in the test's own session."""

    spark: SparkSession
    folder: Path
    extra: Mapping[str, str] = field(default_factory=dict)
    arguments: Sequence[str] = ()
    conf: str = "cdc_events.properties"
    log: list[str] = field(default_factory=list)
    next_offset: int = 0

    @property
    def landing(self) -> Path:
        return self.folder / "landing"

    @property
    def table_path(self) -> Path:
        return self.folder / "lake" / "cdc_events"

    @property
    def quarantine(self) -> Path:
        return self.folder / "lake" / "_quarantine" / "cdc_events"

    def land(self, *events: Event | str, name: str | None = None) -> Path:
        """Write one landing object, by default the next of the ordered layout."""
        self.next_offset += len(events)
        path = self.landing / (name or f"{TOPIC}/0/{self.next_offset - 1:012d}_{1}_{2}.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(as_lines(events))
        return path

    def settings(self) -> Settings:
        given = command_line.parse(
            [
                *("--table-type", "COPY_ON_WRITE", "--target-base-path", str(self.table_path)),
                *("--target-table", "datalake.cdc_events", *self.arguments),
            ]
        )
        pairs = properties.load(str(CONF / self.conf), lambda path: Path(path).read_text())
        overrides = {
            "hoodie.streamer.source.dfs.root": str(self.landing),
            "hoodie.streamer.schemaprovider.source.schema.file": str(SCHEMA),
        }
        all_overrides = properties.parse_overrides(f"{k}={v}" for k, v in {**overrides, **self.extra}.items())
        return settings.decide(given, properties.combine(pairs, all_overrides), self.log.append)

    def table(self) -> HudiTable:
        return HudiTable(self.spark, self.settings().table)

    def job(self) -> Ingest:
        """A job that has read the table's progress, as after a start."""
        decided = self.settings()
        text = Path(decided.schema_file).read_text()
        columns = schema.parse(text, decided.schema_file)
        job = build_ingest(self.spark, decided, columns, SharedParts(log=self.log.append))
        job.load()
        return job

    def run(self, *events: Event | str) -> CommitReport:
        """Land events, start a job and run one batch, which must commit."""
        if events:
            self.land(*events)
        report = self.job().run_batch()
        assert report is not None
        return report

    def rows(self) -> dict[int, dict[str, Any]]:
        """The table's rows by order_id, without Hudi's own columns."""
        found = self.spark.read.format("hudi").load(str(self.table_path)).collect()
        rows = [{k: v for k, v in row.asDict().items() if not k.startswith("_hoodie_")} for row in found]
        by_key = {row["order_id"]: row for row in rows}
        assert len(by_key) == len(rows), "a key is in the table twice"
        return by_key

    def lsns(self) -> dict[int, int]:
        """The ordering value of each row."""
        return {key: row["__lsn"] for key, row in self.rows().items()}

    def quarantined(self) -> list[dict[str, Any]]:
        """All quarantined entries."""
        files = sorted(path for path in self.quarantine.rglob("*.json") if not path.name.startswith("."))
        return [json.loads(line) for path in files for line in path.read_text().strip().split("\n")]

    def commits(self) -> int:
        """How many completed commits the timeline has."""
        names = [path.name for path in (self.table_path / ".hoodie").glob("[0-9]*")]
        return sum(name.endswith((".commit", ".deltacommit")) for name in names)


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    """An empty lake in the default layout."""
    return Lake(spark, tmp_path)
