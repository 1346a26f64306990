"""The handler's effect on a database outside the stacks; PostgreSQL behind TLS stands in for it.

moto is Secrets Manager and Systems Manager.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contract.source import heartbeat_statement
from contract.tags import missed_in
from db.source.objects import SourceObjects, WantedTable
from db.source.plan import prepare
from local.services.postgres import ConnectionParameters
from stacks.handlers import preparation
from tests.conftest import ask, execute
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.cloudformation import Stack, World, failing
from tests.stacks.handlers.preparation.cluster import others_secrets, others_server, server_request, streaming
from tests.tls import Authority

pytestmark = pytest.mark.integration

ROLE, PASSWORD = "cdc_crm", "a-Password1"
RECORD = "/dev-cdc-lake/source/crm/prepared-by"
READABLE = f"SELECT has_table_privilege('{ROLE}', 'people', 'SELECT')"
SLOTS = "SELECT count(*) FROM pg_replication_slots WHERE database = current_database()"
WANTED = SourceObjects(
    publication="cdc_crm",
    slot="cdc_crm",
    schema="cdc_crm",
    role=ROLE,
    tables=(WantedTable(schema="public", name="people", key=("id",)),),
)


@pytest.fixture
def server(database: ConnectionParameters, authority: Authority, tmp_path: Path) -> Iterator[int]:
    execute(database, "CREATE TABLE people (id int PRIMARY KEY, name text)")
    with others_server(database, authority, tmp_path, ROLE) as port:
        yield port


@pytest.fixture
def parameters(manager: Any, database: ConnectionParameters) -> Any:
    """Systems Manager, and the two secrets."""
    others_secrets(manager, database, connector=(ROLE, PASSWORD))
    return client("ssm")


@pytest.fixture
def source(
    parameters: Any,  # noqa: ARG001  with the secrets
    world: World,
    database: ConnectionParameters,
    server: int,
    authority: Authority,
) -> Stack:
    wanted = server_request(
        database,
        server,
        authority,
        connectorSecretArn="connector",
        record=RECORD,
        pipeline="crm",
        role=ROLE,
        tables=[{"schema": "public", "name": "people", "key": ["id"], "leaveOut": [], "hash": []}],
        **dict.fromkeys(("schema", "publication", "slot"), "cdc_crm"),
    )
    return Stack(world, preparation, "CrmOutsideSource", wanted=wanted)


def entries(parameters: Any) -> list[str]:
    found = parameters.get_parameters_by_path(Path=RECORD)["Parameters"]
    return [parameter["Value"] for parameter in found]


def test_with_its_owners_secret_a_database_is_prepared_and_written_down(
    database: ConnectionParameters, parameters: Any, source: Stack
) -> None:
    data = source.create()
    assert ask(database, READABLE) is True
    assert entries(parameters) == [f"{data['Generation']}/dev-cdc-lake-connectors/CrmOutsideSource"]
    assert source.update(source.but(sqlHash="1")) == data


def test_a_slot_that_another_environment_reads_is_left_to_it(
    database: ConnectionParameters, parameters: Any, source: Stack
) -> None:
    data = source.create()
    with streaming(database, "cdc_crm"):
        assert source.update(source.but(sqlHash="1")) == data
    source.delete()
    with streaming(database, "cdc_crm"):
        assert "reads the slot cdc_crm already, of another environment or machine" in failing(source.again().create)
        assert ask(database, SLOTS) == 1
    assert entries(parameters) == []


@pytest.mark.parametrize("change", [{"host": "127.0.0.1"}, {"port": 1}, {"database": "other"}])
def test_a_move_is_refused_and_its_rollback_passes(source: Stack, change: dict[str, Any]) -> None:
    data = source.create()
    moved = source.but(**change)
    before, after = (f"{each['host']}:{each['port']}/{each['database']}" for each in (source.wanted, moved))
    reason = failing(source.update, moved)
    assert reason.startswith(f"pipeline crm: its database can't move from {before} to {after}: the slot would stay")
    assert reason.endswith("then run `./lake resnapshot -e ENV -p crm`")
    assert source.update(source.but(sqlHash="1")) == data


@pytest.mark.parametrize("owner", [True, False])
def test_a_second_life_after_a_connector_is_written_down_until_the_lake_is_equal(
    database: ConnectionParameters, parameters: Any, source: Stack, *, owner: bool
) -> None:
    prepare(database, WANTED, password=PASSWORD)
    wanted = source.wanted if owner else source.but(ownerSecretArn="")
    source.create(wanted)
    assert not any(map(missed_in, entries(parameters)))
    execute(database, heartbeat_statement("cdc_crm"))
    source.delete()
    again = source.again()
    for change in (again.create, again.update):
        change({**wanted, "sqlHash": change.__name__})
        [entry] = entries(parameters)
        assert missed_in(entry).startswith("since 20")
    prepared_by = f"{str(again.physical_id).rpartition('/')[2]}/dev-cdc-lake-connectors/CrmOutsideSource"
    assert entry.startswith(f"{prepared_by}/since")


def test_without_it_each_thing_that_is_not_done_is_said_and_nothing_changed(
    database: ConnectionParameters, parameters: Any, source: Stack
) -> None:
    execute(database, f"CREATE ROLE {ROLE} LOGIN REPLICATION PASSWORD '{PASSWORD}'")
    reason = failing(source.create, source.but(ownerSecretArn=""))
    assert "it isn't prepared: not done: " in reason
    assert "run `./lake source prepare crm --dsn …`, then deploy again" in reason
    assert ask(database, READABLE) is False
    assert entries(parameters) == []


def test_a_server_with_another_authority_is_refused(database: ConnectionParameters, source: Stack) -> None:
    reason = failing(source.create, source.but(certificate=Authority("Another one").root))
    assert "certificate verify failed" in reason
    assert not ask(database, f"SELECT count(*) FROM pg_roles WHERE rolname = '{ROLE}'")


def test_a_secret_of_another_user_than_the_pipelines_role_is_refused(source: Stack) -> None:
    said = "the secret of pipeline crm is of the user cdc_crm, and its connector logs in as cdc_other: set `role`"
    assert said in failing(source.create, source.but(role="cdc_other"))


def test_deleting_drops_its_slot_as_the_connectors_role_and_its_entry_alone(
    database: ConnectionParameters, parameters: Any, source: Stack
) -> None:
    prepare(database, WANTED, password=PASSWORD)
    source.create(source.but(ownerSecretArn=""))
    execute(database, "SELECT pg_create_logical_replication_slot('cdc_crm', 'pgoutput')")
    parameters.put_parameter(Name=f"{RECORD}-of-another", Value="x", Type="String")
    source.delete()
    assert ask(database, SLOTS) == 0
    assert entries(parameters) == []
    assert parameters.get_parameter(Name=f"{RECORD}-of-another")["Parameter"]["Value"] == "x"
