"""Ordinary tables of a deployed pipeline, re-read; PostgreSQL behind TLS is the source, moto answers for AWS."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import boto3
import psycopg2
import pytest
from psycopg2.extras import LogicalReplicationConnection
from rich.console import Console

from contract.errors import UserError
from db.connecting import LoadError
from db.source.objects import SourceObjects, WantedTable
from db.source.plan import prepare
from db.source.replication import drop_slot
from local.comparison.run import Sides
from local.errors import PlatformError
from local.resnapshot import run
from local.resnapshot.run import Wanted
from local.services.postgres import ConnectionParameters
from operate.kafka import reader
from operate.kafka.cluster import of_environment
from operate.resnapshot import tables as log_tables
from operate.resnapshot.connectors import StoredOffsets
from operate.resnapshot.tables import resnapshot_deployed
from operate.sides import DeployedPipeline, login
from operate.source_cluster import missed_since
from settings.environment import Environment
from settings.load import load
from tests.conftest import ask, execute
from tests.operate.conftest import MOTOS_ACCOUNT, REGION, deploy
from tests.operate.resnapshot.test_stored_offsets import SHOP, Log
from tests.settings.pipelines import add_to, copied_pipelines, write_pipeline
from tests.stacks.settings import copied
from tests.tls import Authority, encrypted
from tests.waiting import wait_until

BEYOND = 2**62
ROLE, PASSWORD = "cdc_connector", "a-Password1"
GENERATION = "0a1b2c3d"
OFFSETS = f"__cdc_lake_offsets_dev-cdc-lake-crm-source-{GENERATION}"
SIGNALS = "SELECT type || ' ' || data FROM cdc_crm.signal"


def crm(folder: Path, *, port: int, certificate: str, database: str) -> Environment:
    """dev with a pipeline of two tables on an outside server, in moto's account."""
    environments, pipelines = copied(folder), copied_pipelines(folder)
    write_pipeline(pipelines, "crm", ["people", "notes"])
    file = environments / "dev.toml"
    file.write_text(file.read_text().replace("111111111111", MOTOS_ACCOUNT))
    arn = f"arn:aws:secretsmanager:{REGION}:{MOTOS_ACCOUNT}:secret:crm-AbCdEf"
    lines = ["[pipelines.database]", 'host = "localhost"', f"port = {port}", f'name = "{database}"']
    lines += [f'secret = "{arn}"', 'cidrs = ["10.1.2.3/32"]', f'certificate = """{certificate}"""']
    add_to(environments, "crm", *lines)
    return load("dev", environments, pipelines)


@contextlib.contextmanager
def reading(database: ConnectionParameters, name: str) -> Iterator[None]:
    """Read a slot through a publication of the same name, as a connector does."""
    with contextlib.closing(psycopg2.connect(**database, connection_factory=LogicalReplicationConnection)) as session:
        cursor = session.cursor()
        cursor.start_replication(slot_name=name, options={"proto_version": "1", "publication_names": name})
        yield


@contextlib.contextmanager
def captured(
    database: ConnectionParameters, aws: boto3.Session, folder: Path, pipeline: str, *tables: WantedTable
) -> Iterator[Environment]:
    """A database behind TLS, as its DBA has prepared it for a pipeline of these tables; the environment captures it."""
    name = f"cdc_{pipeline}"
    objects = SourceObjects(publication=name, slot=name, schema=name, role=ROLE, tables=tables)
    prepare(database, objects, password=PASSWORD)
    ask(database, f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')")
    authority = Authority("The authority of somebody's server")
    with encrypted(int(database["port"]), authority.server("localhost", folder)) as port:
        environment = crm(folder, port=port, certificate=authority.root, database=str(database["dbname"]))
        secret = json.dumps({"username": ROLE, "password": PASSWORD})
        # moto chooses the ARN's last characters.
        arn = aws.client("secretsmanager").create_secret(Name="login", SecretString=secret)["ARN"]
        orders, outside = environment.pipelines
        assert outside.database is not None
        found = outside.database.model_copy(update={"secret": arn})
        pipelines = (orders, outside.model_copy(update={"database": found}))
        own = environment.database.model_copy(update={"name": database["dbname"]})
        yield environment.model_copy(update={"database": own, "pipelines": pipelines})
    # The session that read it may need a moment to release it.
    wait_until(lambda: drop_slot(database, name))
    # Not the role: other databases of the server have it, too.
    execute(database, f"DROP OWNED BY {ROLE}")


class Server:
    """A database with two captured tables; `environment` captures it."""

    def __init__(self, environment: Environment, database: ConnectionParameters) -> None:
        self.environment = environment
        self.database = database
        self.pipeline = environment.pipelines[1]


@pytest.fixture
def server(database: ConnectionParameters, aws: boto3.Session, tmp_path: Path) -> Iterator[Server]:
    execute(database, "CREATE TABLE people (id int PRIMARY KEY, name text); CREATE TABLE notes (id int PRIMARY KEY)")
    tables = [WantedTable(schema="public", name=name, key=("id",)) for name in ("people", "notes")]
    with captured(database, aws, tmp_path, "crm", *tables) as environment, reading(database, "cdc_crm"):
        yield Server(environment, database)


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The comparison's arguments; tests/local/comparison covers the comparison itself."""
    calls: list[Any] = []

    def compare(_console: Console, sides: Sides, **others: object) -> bool:
        calls.append((sides.tables, others))
        return True

    monkeypatch.setattr(log_tables, "reconcile_tables", compare)
    return calls


def deploy_crm(aws: boto3.Session, *buckets: str) -> None:
    """Deploy the stacks' outputs, and buckets in addition to the lake's."""
    deploy("dev-cdc-lake-connectors", CrmSourceConnectorArn=f"arn:aws:kafkaconnect:{REGION}:1:connector/x/y")
    deploy("dev-cdc-lake-lake", LakeBucket="dev-lake")
    name = "/dev-cdc-lake/source/crm/generation"
    aws.client("ssm").put_parameter(Name=name, Value=GENERATION, Type="String")
    place: Any = {"LocationConstraint": REGION}
    for bucket in ("dev-lake", *buckets):
        aws.client("s3").create_bucket(Bucket=bucket, CreateBucketConfiguration=place)


@pytest.fixture
def deployed(
    aws: boto3.Session, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Log]:
    """The stacks' outputs, an empty lake, and a broker with offsets past a signal once it is given."""
    deploy_crm(aws)
    deploy("dev-cdc-lake-streaming", BootstrapBrokers="b-1.example:9098")
    log = Log(1)

    def partitions() -> dict[str, list[int]]:
        if ask(database, SIGNALS) is not None:
            log.add(0, SHOP, {"lsn": BEYOND})
        return {OFFSETS: [0]}

    monkeypatch.setattr(log, "partitions", partitions)
    monkeypatch.setattr(reader, "connect", lambda _cluster, **_: contextlib.nullcontext(log))
    monkeypatch.setattr(run, "newest_position", lambda _lake: 0)
    monkeypatch.setattr(log_tables, "BUILD", tmp_path / "build")
    with contextlib.ExitStack() as reads:

        def silent(*_: object, stored: StoredOffsets, **__: object) -> Mock:
            """Stand in for MSK Connect's connector, which moto lacks: it neither stops nor reports why it failed."""
            of_slot = {"slot": "cdc_crm", "offsets": stored.read, "failure": lambda: None, "newest_position": lambda: 0}
            return Mock(**of_slot, follow_slot=lambda: reads.enter_context(reading(database, "cdc_crm")))

        monkeypatch.setattr(log_tables, "source_of", silent)
        yield log


@pytest.mark.integration
@pytest.mark.usefixtures("deployed")
def test_tables_are_asked_for_by_the_signal_table_and_compared_afterwards(server: Server, compared: list[Any]) -> None:
    said: list[str] = []
    wanted = Wanted(where="id > 7", timeout_s=5)
    equal = resnapshot_deployed(server.environment, server.pipeline, ["public.people"], wanted, Console(), said.append)
    assert equal
    kind, _, data = str(ask(server.database, SIGNALS)).partition(" ")
    assert kind == "execute-snapshot"
    asked = json.loads(data)
    assert asked["data-collections"] == ['"public"."people"']
    assert asked["additional-conditions"][0]["filter"] == "id > 7"
    [(tables, others)] = compared
    assert [table.lake.base_uri for table in tables] == ["s3://dev-lake/crm_people"]
    assert others["report"].name == "reconcile.json"
    assert said == ["asked for a snapshot of public.people"]


@pytest.mark.integration
@pytest.mark.usefixtures("deployed", "compared")
@pytest.mark.parametrize("names", [["public.people"], []], ids=["one", "all"])
def test_only_a_re_snapshot_of_all_brings_what_was_missed(server: Server, aws: boto3.Session, names: list[str]) -> None:
    name = f"{server.environment.source_parameter(server.pipeline, 'prepared-by')}/x"
    aws.client("ssm").put_parameter(Name=name, Value="gen/stack/id/since 2026-11-27", Type="String")
    assert resnapshot_deployed(server.environment, server.pipeline, names, Wanted(timeout_s=5), Console(), print)
    missed = missed_since(aws, server.environment)
    assert missed == ({"crm": "since 2026-11-27"} if names else {})


@pytest.mark.integration
@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize("way", [Wanted(skip=True), Wanted()], ids=["lost", "well"])
def test_a_loss_is_recorded_before_what_tells_of_it_is_repaired(
    server: Server, aws: boto3.Session, monkeypatch: pytest.MonkeyPatch, way: Wanted
) -> None:
    name = f"{server.environment.source_parameter(server.pipeline, 'prepared-by')}/x"
    aws.client("ssm").put_parameter(Name=name, Value="gen/stack/id", Type="String")
    for step in ("_renew_slot", "_await_reader"):
        monkeypatch.setattr(run, step, Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        resnapshot_deployed(server.environment, server.pipeline, [], way, Console(), print)
    assert missed_since(aws, server.environment).keys() == ({"crm"} if way.skip else set())


@pytest.mark.integration
@pytest.mark.usefixtures("compared")
def test_a_restored_servers_log_is_brought_past_what_was_read_of_its_predecessor(server: Server, deployed: Log) -> None:
    now = int(ask(server.database, "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn"))
    deployed.add(0, SHOP, {"lsn": now + 1_000_000})
    with pytest.raises(PlatformError, match="leave --table and --where out"):
        resnapshot_deployed(server.environment, server.pipeline, ["public.people"], Wanted(), Console(), print)
    deployed.add(0, SHOP, {"lsn": BEYOND})
    with pytest.raises(PlatformError, match="GiB beyond the database's log: this is another server"):
        resnapshot_deployed(server.environment, server.pipeline, [], Wanted(), Console(), print)


@pytest.mark.integration
@pytest.mark.usefixtures("compared")
@pytest.mark.parametrize("made_again", [True, False], ids=["made again", "gone"])
def test_a_lost_slot_is_renewed_also_where_a_connector_has_made_it_again(
    server: Server, deployed: Log, made_again: bool
) -> None:
    now = int(ask(server.database, "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn"))
    deployed.add(0, SHOP, {"lsn": now, "lsn_proc": now})
    ask(server.database, "SELECT pg_terminate_backend(active_pid, 5000) FROM pg_replication_slots WHERE active")
    ask(server.database, "SELECT pg_drop_replication_slot('cdc_crm')")
    execute(server.database, "INSERT INTO people VALUES (1, 'missed')")
    if made_again:
        ask(server.database, "SELECT pg_create_logical_replication_slot('cdc_crm', 'pgoutput')")
    said: list[str] = []
    with pytest.raises(PlatformError, match="leave --table and --where out"):
        resnapshot_deployed(server.environment, server.pipeline, ["people"], Wanted(), Console(), print)
    wanted = Wanted(timeout_s=5, start_s=5)
    assert resnapshot_deployed(server.environment, server.pipeline, [], wanted, Console(), said.append)
    assert said[-2:] == ["new replication slot", "asked for a snapshot of public.notes, public.people"]


@pytest.mark.integration
def test_the_outside_server_is_verified_before_a_password_is_sent(server: Server, aws: boto3.Session) -> None:
    from db.connecting import connect

    assert server.pipeline.database is not None
    other = server.pipeline.database.model_copy(update={"certificate": Authority("Another").root})
    pipeline = server.pipeline.model_copy(update={"database": other})
    with login(DeployedPipeline(server.environment, pipeline, aws)) as parameters:
        assert parameters["user"] == ROLE
        with pytest.raises(LoadError, match="certificate verify failed"):
            connect(parameters)


def test_a_pipelines_cluster_has_the_topics_of_the_tables_that_are_named(aws: boto3.Session, tmp_path: Path) -> None:
    environment = crm(tmp_path, port=1, certificate=Authority("a").root, database="crmdb")
    deploy("dev-cdc-lake-streaming", BootstrapBrokers="b-1.example:9098")
    cluster = of_environment(environment, "crm", ["crm_notes"])
    assert aws.region_name == cluster.region
    assert cluster.topics == {"public.notes": "crm.public.notes"}
    assert [*of_environment(environment, "crm").topics] == ["public.people", "public.notes"]
    with pytest.raises(UserError, match=r"'nope' isn't .* crm; most like it: public\.notes, public\.people"):
        of_environment(environment, "crm", ["nope"])
