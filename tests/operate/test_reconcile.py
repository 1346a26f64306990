"""`./lake aws reconcile`: PostgreSQL behind TLS, a broker, and Hudi tables in moto's S3, which also answers for AWS."""

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import psycopg2
import pyarrow
import pytest
from botocore.stub import Stubber
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from moto.moto_api._internal.models import moto_api_backend
from moto.server import ThreadedMotoServer
from typer.testing import CliRunner

from cli.__main__ import app
from contract import rds_ca
from contract.errors import CANNOT, NO
from db.connecting import UnreachableError
from db.source.objects import WantedTable
from local.look.lake import Lake
from local.look.topic import Topic
from local.services.kafka import ADMIN, Kafka
from local.services.postgres import ConnectionParameters
from operate import outputs, sides
from operate.errors import OperateError
from operate.resnapshot import tables
from operate.sides import check_readable
from plugins.connector_names import sink_group
from plugins.kafka import msk_login
from settings import load
from settings.connectors import sink_settings
from settings.environment import Environment
from tests.broker import RunningBroker
from tests.conftest import ask, execute, free_port
from tests.hudi_files import HudiFiles
from tests.operate.conftest import REGION, deploy, with_credentials
from tests.operate.resnapshot.test_stored_offsets import SHOP
from tests.operate.resnapshot.test_tables import BEYOND, OFFSETS, PASSWORD, captured, deploy_crm
from tests.transcripts import first_difference, transcript
from tests.waiting import wait_until

PAGE = Path(__file__).parents[2] / "docs" / "your-database" / "repair.md"
# Pipeline → its table, its key, and what its DBA or deployment has prepared.
TABLES = {
    "crm": ("public.people", "id", "CREATE TABLE people (id int PRIMARY KEY, name text)"),
    "orders": (
        "datalake.cdc_events",
        "order_id",
        "CREATE SCHEMA datalake; CREATE TABLE datalake.cdc_events (order_id int PRIMARY KEY, name text)",
    ),
}


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[boto3.Session]:
    """Moto's server in AWS's place: hudi-rs, too, asks it."""
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with_credentials(monkeypatch, tmp_path)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    try:
        yield boto3.Session(region_name=REGION)
    finally:
        moto_api_backend.reset()
        server.stop()


class Deployed:
    """A deployed pipeline of one table; it plays the connector, the sink and the job."""

    def __init__(
        self, environment: Environment, name: str, database: ConnectionParameters, kafka: Kafka, lake: HudiFiles
    ) -> None:
        self.environment = environment
        self.database = database
        self.table, self.key, _ = TABLES[name]
        [self._pipeline] = [one for one in environment.pipelines if one.name == name]
        self._kafka = kafka
        self._lake = lake
        self._sink = sink_settings(environment, self._pipeline)
        self._topic = self._pipeline.captured.table(self.table).captured.topic(self._pipeline.prefix)
        self._s3 = boto3.client("s3", region_name=REGION)
        self._commits = 0
        self._events = 0

    def run(self, *options: str) -> tuple[int, str]:
        words = ["aws", "reconcile", "-e", "dev", "-p", self._pipeline.name, *options]
        done = CliRunner().invoke(app, words, catch_exceptions=False)
        return done.exit_code, done.output

    def change(self, statement: str) -> None:
        """Change the source; the connector sends an event for each of its rows."""
        execute(self.database, statement)
        self._events += 1
        self._send(self._topic, '{"__op": "c"}')

    def land(self) -> None:
        """Have the sink write all events to an object."""
        name = f"{self._sink.prefix}/{self._topic}/0/{self._events - 1:012d}_1_2.json"
        self._s3.put_object(Bucket=self._sink.bucket, Key=name, Body=b"{}\n")
        group = Consumer(self._kafka.client() | {"group.id": sink_group(self._sink.name)})
        group.commit(offsets=[TopicPartition(self._topic, 0, self._events)], asynchronous=False)
        group.close()

    def commit(self, *rows: tuple[int, str], deleted: tuple[int, ...] = ()) -> None:
        """Have the job commit rows of all that has landed."""
        self._commits += 1
        progress = json.dumps({"watermarks": {"0": f"0/{self._events - 1:012d}_1_2.json"}})
        written = [{self.key: key, "name": name} for key, name in rows]
        self._lake.commit(f"2026112700000000{self._commits}", *written, deleted=deleted, progress=progress)
        table = self._pipeline.captured.lake_table(self._pipeline.captured.table(self.table))
        # A commit is there once its files are.
        files = (path for path in self._lake.folder.rglob("*") if path.is_file())
        for path in sorted(files, key=lambda path: path.suffix == ".commit"):
            key = f"{table}/{path.relative_to(self._lake.folder)}"
            self._s3.put_object(Bucket="dev-lake", Key=key, Body=path.read_bytes())

    def store_offset(self) -> None:
        """Have the connector store an offset beyond any signal."""
        self._send(OFFSETS, json.dumps({"lsn": BEYOND}), SHOP)

    def operations(self) -> list[str]:
        """What the topic's events did."""
        topic = Topic(connection=self._kafka.client(), name=self._topic)
        return [event.value["__op"] for event in topic.events(0) if event.value]

    def _send(self, topic: str, value: str, key: bytes = b"{}") -> None:
        producer = Producer(self._kafka.client())
        producer.produce(topic, key=key, value=value)
        assert producer.flush(60) == 0


@contextlib.contextmanager
def confirming(database: ConnectionParameters, slot: str) -> Iterator[None]:
    """Confirm the log in a slot, as a connector does whose events are in the topics."""
    ended = threading.Event()

    def confirm() -> None:
        with contextlib.closing(psycopg2.connect(**database)) as connection, connection.cursor() as cursor:
            connection.autocommit = True
            while not ended.wait(0.1):
                cursor.execute("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", [slot])

    thread = threading.Thread(target=confirm)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.fixture
def deployed(
    request: pytest.FixtureRequest,
    database: ConnectionParameters,
    shared_broker: RunningBroker,
    aws: boto3.Session,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Iterator[Deployed]:
    """The pipeline of the test's parameter."""
    name, kafka = request.param, shared_broker.kafka
    table, key, created = TABLES[name]
    schema, _, short = table.partition(".")
    execute(database, created)
    wanted = WantedTable(schema=schema, name=short, key=(key,))
    with captured(database, aws, tmp_path, name, wanted) as environment:
        outside = environment.pipelines[1].database
        assert outside is not None
        assert outside.certificate is not None
        root = tmp_path / "root.pem"
        root.write_text(outside.certificate)
        deploy_crm(aws, environment.bucket_name("landing"))
        logins = dict.fromkeys(("MasterSecretName", "ConnectorSecretName"), "login")
        deploy("dev-cdc-lake-database", Endpoint=f"localhost:{outside.port}", **logins)
        monkeypatch.setattr(rds_ca, "BUNDLE", root)
        monkeypatch.setattr(load, "load", lambda _name: environment)
        monkeypatch.setattr(sides, "PIPELINES", tmp_path / "pipelines")
        monkeypatch.setattr(tables, "BUILD", tmp_path / "build")
        monkeypatch.setattr(msk_login, "settings", lambda _region: kafka.users.login(ADMIN))
        columns = pyarrow.schema([(key, pyarrow.int32()), ("name", pyarrow.string())])
        with _topics(kafka), confirming(database, f"cdc_{name}"):
            yield Deployed(environment, name, database, kafka, HudiFiles(tmp_path / "lake", columns, key=key))


@contextlib.contextmanager
def _topics(kafka: Kafka) -> Iterator[None]:
    """Deploy the broker with the pipeline's topics, and remove them."""
    deploy("dev-cdc-lake-streaming", BootstrapBrokers=kafka.bootstrap_servers)
    names = ["crm.public.people", OFFSETS, "msk.datalake.cdc_events"]
    admin = AdminClient({**kafka.client()})
    for made in admin.create_topics([NewTopic(topic, 1, 1) for topic in names]).values():
        made.result(60)
    yield
    for removed in admin.delete_topics(names).values():
        removed.result(60)


@pytest.mark.integration
@pytest.mark.parametrize("deployed", TABLES, indirect=True)
def test_rows_are_late_then_different_then_equal(deployed: Deployed) -> None:
    deployed.change(f"INSERT INTO {deployed.table} VALUES (1, 'Ada'), (2, 'Grace')")
    deployed.land()
    deployed.commit((1, "Ada"), (2, "Grace"))
    deployed.change(f"INSERT INTO {deployed.table} VALUES (3, 'Edsger')")
    table = ("-t", deployed.table)
    status, said = deployed.run(*table, "--timeout", "1")
    assert (status, said.splitlines()[1:]) == (NO, [f"  not in the lake yet: {deployed.key} = 3"])
    deployed.land()
    # What the job loses: 3 doesn't come, 2 is another, and 9 is the lake's alone.
    deployed.commit((2, "grace"), (9, "Alan"))
    status, said = deployed.run(*table, "--json")
    assert status == NO
    [found] = json.loads(said[said.index("{") :])["tables"]
    assert [found[kind] for kind in ("missing", "extra", "different", "late")] == [1, 1, 1, 0]
    deployed.commit((2, "Grace"), (3, "Edsger"), deleted=(9,))
    status, said = deployed.run(*table)
    assert (status, re.sub(r"[\d.]+ s", "", said)) == (0, f"{deployed.table}  equal  3 rows  \n")


@pytest.mark.integration
@pytest.mark.parametrize("deployed", ["crm"], indirect=True)
def test_differing_rows_are_asked_for_by_the_signal_table(deployed: Deployed) -> None:
    """The page shows this."""
    deployed.change("INSERT INTO people VALUES (1, 'Ada'), (2, 'Grace'), (3, 'Edsger')")
    deployed.land()
    deployed.commit((1, "Ada"), (2, "grace"), (9, "Alan"))
    command = ("-t", "public.people")
    status, differs = deployed.run(*command)
    assert status == NO
    signalled = threading.Thread(target=_repair, args=(deployed,))
    signalled.start()
    status, repaired = deployed.run(*command, "--repair")
    signalled.join()
    assert status == 0
    first = "./lake aws reconcile -e dev -p crm -t public.people"
    said = re.sub(r"[\d.]+ s\b", "… s", f"{differs}$ {first} --repair\n{repaired}")
    assert first_difference(transcript(PAGE, first), said) == ""


def _repair(deployed: Deployed) -> None:
    """Play the connector that reads the asked rows, and the job that gets them and our deletes."""
    data = wait_until(lambda: ask(deployed.database, "SELECT data FROM cdc_crm.signal"))
    assert json.loads(data)["data-collections"] == ['"public"."people"']
    deployed.commit((2, "Grace"), (3, "Edsger"))
    deployed.store_offset()
    wait_until(lambda: "d" in deployed.operations())
    deployed.commit(deleted=(9,))


@pytest.mark.integration
@pytest.mark.parametrize("deployed", ["orders"], indirect=True)
def test_rows_of_the_outbox_are_written_again(deployed: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    """tests/e2e writes them again; here the rows only arrive."""
    asked = []

    def resnapshot(_environment: Environment, _pipeline: object, wanted: Any, _say: object) -> None:
        asked.append(wanted.where)
        deployed.commit((1, "Ada"), deleted=(9,))

    monkeypatch.setattr(tables, "resnapshot_outbox", resnapshot)
    deployed.change(f"INSERT INTO {deployed.table} VALUES (1, 'Ada')")
    deployed.land()
    deployed.commit((1, "ada"), (9, "Alan"))
    status, said = deployed.run("--repair")
    assert (status, asked[0]) == (0, "order_id IN (1)")
    assert "datalake.cdc_events: 1 rows read again, " in said


@pytest.mark.integration
@pytest.mark.parametrize("deployed", ["crm"], indirect=True)
def test_what_keeps_a_comparison_from_beginning_is_one_line(
    deployed: Deployed, aws: boto3.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployed.change("INSERT INTO people VALUES (1, 'Ada')")
    status, said = deployed.run("-t", "people", "--timeout", "0")
    assert (status, said.splitlines()) == (
        NO,
        [
            "public.people  not compared: s3://dev-lake/crm_people has no commit yet: the log of its job says why"
            " (docs/aws/alarms.md)"
        ],
    )
    for variable in ("PGPASSWORD", "CDC_CONNECTOR_PASSWORD"):
        monkeypatch.setenv(variable, "wrong")
        status, said = deployed.run("-t", "people")
        assert status == CANNOT
        assert re.search(r"\Areconcile: .*password authentication failed.*\n\Z", said), said
    monkeypatch.setenv("CDC_CONNECTOR_PASSWORD", PASSWORD)
    aws.client("secretsmanager").delete_secret(SecretId="login", ForceDeleteWithoutRecovery=True)
    assert deployed.run("-t", "people", "--timeout", "0")[0] == NO
    monkeypatch.delenv("CDC_CONNECTOR_PASSWORD")
    monkeypatch.delenv("PGPASSWORD")
    status, said = deployed.run()
    assert (status, said[:33], said.count("\n")) == (CANNOT, "reconcile: cannot read the secret", 1)
    broker = f"127.0.0.1:{free_port()}"
    monkeypatch.setattr(outputs, "output", lambda *_: broker if _[2] == "BootstrapBrokers" else "dev-lake")
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    status, said = deployed.run()
    assert (status, said) == (
        CANNOT,
        "reconcile: no Kafka broker of dev answers (127.0.0.1: Connection refused): connect the VPN"
        " (docs/aws/vpn.md) and try again\n",
    )


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("AccessDenied", r"\Ayou may not read s3://lake/t: your role needs s3:ListBucket, s3:GetObject and kms:Decr"),
        ("ExpiredToken", r"\Ayour AWS credentials have expired: log in"),
        ("NoSuchBucket", r"\AAWS refuses GetObject: NoSuchBucket"),
    ],
)
def test_who_may_not_read_the_lake_hears_it_before_the_comparison(
    environment: Environment, code: str, said: str
) -> None:
    client = boto3.client("s3", region_name=REGION, aws_access_key_id="x", aws_secret_access_key="x")
    stubber = Stubber(client)
    stubber.add_client_error("get_object", code)
    with stubber, pytest.raises(OperateError, match=said), outputs.one_line(environment):
        check_readable(client, Lake(base_uri="s3://lake/t"))


def test_a_database_that_isnt_reached_takes_the_vpn(environment: Environment) -> None:
    said = r"\Adb:5432: timeout expired; .* takes the VPN \(docs/aws/vpn\.md\)\Z"
    with pytest.raises(OperateError, match=said), tables._in_one_line(environment):
        raise UnreachableError("db:5432: timeout expired")
