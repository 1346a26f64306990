"""The source connector's plugin, packed as for MSK Connect, in a real worker: the certificates that Debezium accepts.

The worker gets no path and no trust store: the plugin contains what it verifies with.
"""

import contextlib
import hashlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from contract.events import PLACEHOLDER
from db.loading import LoadOptions, load
from local.look.topic import Topic
from local.services.connect import Connect
from local.services.connect_api import RequestError
from local.services.kafka import ADMIN, Kafka
from local.services.postgres import ConnectionParameters, Postgres
from local.services.processes import Processes
from local.setup.jars import jar_folder
from local.setup.ports import choose
from plugins.connector_settings import SourceSettings
from plugins.kafka.topics import PlannedTopic
from plugins.releases.archive import repack
from plugins.source.captured import CapturedTable
from plugins.source.source_connector import SALT_PROPERTY, source_connector
from plugins.workers.connect_workers import OF_SOURCES, resources
from settings.connectors import ROOT_CERTIFICATE
from tests.broker import RunningBroker
from tests.conftest import execute, fresh_database
from tests.tls import Authority, encrypted
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

PASSWORD = "Connector-1"
SALT = "0123456789abcdefSALT"
MAIL = "ä€😀@b"
# Of a row, `brief` and `body` are stored out of line: the log leaves them out of an UPDATE of other columns.
PEOPLE = f"""
CREATE TABLE public.people (
    id int PRIMARY KEY, mail text, rest char(200) STORAGE PLAIN DEFAULT '',
    brief varchar(30) STORAGE EXTERNAL NOT NULL, body text STORAGE EXTERNAL DEFAULT 'none'
) WITH (toast_tuple_target = 128);
INSERT INTO public.people VALUES (1, '{MAIL}', '', repeat('brief', 6), repeat('body', 2500));
CREATE PUBLICATION people FOR TABLE public.people;
GRANT SELECT ON public.people TO cdc_connector;
"""
# A name in the certificate, and one that isn't.
HOST, OTHER_HOST = "localhost", "127.0.0.1"
START_S = 300


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority("The test's RDS")


@pytest.fixture(scope="module")
def database(postgres: Postgres) -> Iterator[ConnectionParameters]:
    with fresh_database(postgres) as parameters:
        load(parameters, LoadOptions(connector_password=PASSWORD, empty=True))
        yield parameters


@pytest.fixture(scope="module")
def services(
    authority: Authority, shared_broker: RunningBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Kafka, Connect, Path]]:
    folder, kafka = tmp_path_factory.mktemp("Größe"), shared_broker.kafka
    [port] = choose(["connect"], earlier={}).values()
    connect = Connect(
        folder / "connect",
        port=port,
        bootstrap_servers=kafka.bootstrap_servers,
        lenses=None,
        login=kafka.users.java_login(ADMIN),
    )
    _install(authority.root, folder / "connect" / "plugins" / "source")
    processes = Processes(folder / "processes", folder / "logs")
    try:
        with pytest.MonkeyPatch.context() as patch:
            # The locale whose encoding Debezium would use for hashed values.
            patch.setenv("LC_ALL", "C")
            processes.run(connect, timeout_s=START_S)
        yield kafka, connect, folder / "logs"
    finally:
        processes.stop(connect.name, grace_s=20)


@pytest.fixture(scope="module")
def worker(services: tuple[Kafka, Connect, Path]) -> Connect:
    return services[1]


def _install(root: str, target: Path) -> None:
    """Pack the plugin as stacks/handlers/connector_plugin.py does, and unpack it as MSK Connect does."""
    [release] = jar_folder("debezium").glob("debezium-connector-postgres-*-plugin.tar.gz")
    target.mkdir(parents=True)
    repack([release], target.with_name("plugin.zip"), resources={ROOT_CERTIFICATE: root, **resources(*OF_SOURCES)})
    with zipfile.ZipFile(target.with_name("plugin.zip")) as packed:
        packed.extractall(target)
    target.with_name("plugin.zip").unlink()


def configuration(worker: Connect, database: ConnectionParameters, **changes: Any) -> dict[str, str]:
    values: dict[str, Any] = {
        "database_hostname": HOST,
        "database_name": database["dbname"],
        "database_password": worker.password_reference(PASSWORD),
        "database_sslmode": "verify-full",
        "database_root_certificate": ROOT_CERTIFICATE,
        "topic_prefix": "verified",
    }
    login = worker.acting_as(ADMIN, worker.login)
    return {**source_connector(SourceSettings(**(values | changes))), **login}


def test_debezium_streams_from_a_server_of_the_right_authority_and_name(
    worker: Connect, database: ConnectionParameters, authority: Authority, tmp_path: Path
) -> None:
    # On one machine it is a file with several certificates.
    (tmp_path / "roots.pem").write_text(f"# one\n{Authority('Another').root}# two\n{authority.root}")
    by_file = {"database_root_certificate": str(tmp_path / "roots.pem")}
    with encrypted(database["port"], authority.server(HOST, tmp_path)) as port:
        worker.api.put_connector("orders-source", configuration(worker, database, database_port=port, **by_file))
        wait_until(lambda: _streaming(database) or worker.api.failure("orders-source") is not None, "it streams")
        worker.api.put_connector("orders-source", configuration(worker, database, database_port=port))
        try:
            wait_until(lambda: _streaming(database) or worker.api.failure("orders-source") is not None, "it streams")
            assert worker.api.failure("orders-source") is None
        finally:
            worker.api.delete_connector("orders-source")
            wait_until(lambda: not _streaming(database), "it has let go of its slot")


@pytest.mark.parametrize(
    ("signer", "changes", "reason"),
    [
        ("another", {}, "PKIX path"),
        ("another", {"database_root_certificate": "{folder}/roots.pem"}, "PKIX path"),
        ("ours", {"database_hostname": OTHER_HOST}, f"hostname {OTHER_HOST} could not be verified"),
        ("ours", {"database_root_certificate": "none.pem"}, "SSLSocketFactory"),
        ("no TLS", {}, "does not support SSL"),
    ],
)
def test_another_server_is_refused(
    worker: Connect,
    database: ConnectionParameters,
    authority: Authority,
    tmp_path: Path,
    signer: str,
    changes: dict[str, str],
    reason: str,
) -> None:
    (tmp_path / "roots.pem").write_text(authority.root)
    given = {name: value.format(folder=tmp_path) for name, value in changes.items()}
    certificate = (authority if signer == "ours" else Authority("Another")).server(HOST, tmp_path)
    plain = contextlib.nullcontext(database["port"])
    with plain if signer == "no TLS" else encrypted(database["port"], certificate) as port:
        wanted = configuration(worker, database, database_port=port, **given)
        with pytest.raises(RequestError, match=reason):
            worker.api.put_connector("refused", wanted)


def test_a_salt_is_taken_from_a_reference_and_what_an_update_left_unchanged_is_no_hash(
    services: tuple[Kafka, Connect, Path], database: ConnectionParameters, authority: Authority, tmp_path: Path
) -> None:
    kafka, worker, logs = services
    kafka.create_topics([PlannedTopic(name="salted.public.people", partitions=1, replicas=1)])
    execute(database, PEOPLE)
    people = CapturedTable(schema="public", table="people", hashed=("mail", "brief", "body"))
    of_people = {"tables": (people,), "publication_name": "people", "slot_name": "people", "heartbeat_query": None}
    with encrypted(int(database["port"]), authority.server(HOST, tmp_path)) as port:
        wanted = configuration(worker, database, database_port=port, topic_prefix="salted", **of_people)
        worker.api.put_connector("people", {**wanted, SALT_PROPERTY: worker.secret_reference("salt", "salt", SALT)})
        try:
            topic = Topic(connection=kafka.client(), name="salted.public.people")
            wait_until(lambda: topic.bounds()[1] > 0 or worker.api.failure("people") is not None, "the row arrives")
            assert worker.api.failure("people") is None
            execute(database, "UPDATE public.people SET mail = NULL; UPDATE public.people SET brief = 'b'")
            wait_until(lambda: topic.bounds()[1] > 2 or worker.api.failure("people") is not None, "changes arrive")
            events = [json.loads(raw.value or b"") for raw in topic.raw_events(0)]
            shown = json.dumps(worker.api.configuration("people"))
            # Another type's text might not be PostgreSQL's, and no value is sent in clear.
            execute(
                database, "ALTER TABLE public.people ALTER mail TYPE int USING 7; UPDATE public.people SET mail = 8"
            )
            wait_until(lambda: worker.api.failure("people") is not None, "it stops")
            assert "a value of column mail (int4) of public.people can't be converted" in str(
                worker.api.failure("people")
            )
            assert topic.bounds()[1] == len(events)
        finally:
            worker.api.delete_connector("people")
    brief, body = _hash("brief" * 6)[:30], _hash("body" * 2500)
    assert [(event["mail"], event["brief"], event["body"]) for event in events] == [
        (_hash(MAIL), brief, body),
        (None, PLACEHOLDER, PLACEHOLDER),
        (None, _hash("b")[:30], PLACEHOLDER),
    ]
    assert SALT not in shown
    [log] = logs.glob("connect*")
    assert SALT not in log.read_text(encoding="utf-8", errors="replace")


def _hash(text: str) -> str:
    return hashlib.sha256(f"{SALT}{text}".encode()).hexdigest()


def _streaming(database: ConnectionParameters) -> bool:
    """Whether the slot has a reader: the replication connection has been verified, too."""
    with contextlib.closing(psycopg2.connect(**database)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(bool_or(active), false) FROM pg_replication_slots")
        row = cursor.fetchone()
        return bool(row and row[0])
