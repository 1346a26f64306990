"""The objects of a pipeline of ordinary tables in its database; PostgreSQL stands in for Aurora, moto for RDS."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from capture.objects import source_objects
from contract.source import heartbeat_statement
from contract.tags import resnapshot
from db.source import plan as source_preparing
from local.services.postgres import ConnectionParameters, Postgres
from settings.pipeline import Pipeline
from stacks.handlers import preparation
from stacks.handlers.framework import ResourceError
from stacks.handlers.preparation import wanted_tables
from stacks.preparation_requests import table_request, table_requests
from tests.conftest import ask, execute, fresh_database
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.cloudformation import DeploymentError, Stack, World, failing
from tests.stacks.handlers.preparation.cluster import CLUSTER, Cluster, drop_role, make_slot

ROLE, PUBLICATION, SLOT = "cdc_shop", "cdc_shop", "cdc_shop"
PUBLISHED = "SELECT string_agg(tablename, ' ' ORDER BY tablename) FROM pg_publication_tables WHERE pubname = 'cdc_shop'"


@pytest.fixture
def cluster(manager: Any, database: ConnectionParameters) -> Iterator[str]:
    """RDS's cluster and the two secrets."""
    execute(database, "CREATE TABLE items (id int PRIMARY KEY, name text); CREATE TABLE notes (id int, note text)")
    master = {**database, "username": database["user"], "engine": "postgres"}
    manager.create_secret(Name="master", SecretString=json.dumps(master))
    manager.create_secret(Name="connector", SecretString=json.dumps({"username": ROLE, "password": "a-Password1"}))
    yield Cluster().arn
    drop_role(database, ROLE)


@pytest.fixture
def source(cluster: str, world: World, database: ConnectionParameters) -> Stack:  # noqa: ARG001
    wanted = {
        "clusterIdentifier": CLUSTER,
        "masterSecret": "master",
        "connectorSecret": "connector",
        "database": database["dbname"],
        "pipeline": "shop",
        "schema": "cdc_shop",
        "publication": PUBLICATION,
        "slot": SLOT,
        "role": ROLE,
        "tables": [table("items", "id")],
    }
    return Stack(world, preparation, "ShopPreparedSource", wanted=wanted)


def table(name: str, *key: str) -> dict[str, Any]:
    return {"schema": "public", "name": name, "key": list(key), "leaveOut": []}


@pytest.mark.integration
def test_a_role_reads_what_is_published_and_a_table_can_be_added(database: ConnectionParameters, source: Stack) -> None:
    data = source.create()
    assert len(data["Generation"]) == 8
    assert "items" in ask(database, PUBLISHED).split()
    settings: dict[str, Any] = {**database, "user": ROLE, "password": "a-Password1"}
    with contextlib.closing(psycopg2.connect(**settings)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM items")
    again = source.update(source.but(tables=[table("items", "id"), table("notes", "id")]))
    assert again == data
    assert {"items", "notes"} <= set(ask(database, PUBLISHED).split())


@pytest.mark.integration
def test_a_move_is_refused_and_rolled_back(database: ConnectionParameters, postgres: Postgres, source: Stack) -> None:
    data = source.create()
    make_slot(database, SLOT)
    with fresh_database(postgres) as other:
        execute(other, "CREATE TABLE items (id int PRIMARY KEY, name text)")
        reason = failing(source.update, source.but(database=other["dbname"]))
    assert f"the replication slot {SLOT} is of the database {database['dbname']}, where it would stay" in reason
    assert source.update(source.but(sqlHash="1")) == data


@pytest.mark.integration
def test_a_table_that_is_not_there_fails_the_deployment_with_its_name(source: Stack) -> None:
    reason = failing(source.create, source.but(tables=[table("gone", "id")]))
    assert "pipeline shop, database" in reason
    assert "public.gone: no such table" in reason


@pytest.mark.integration
def test_a_pipelines_entry_in_the_tags_is_not_the_outboxs(cluster: str, source: Stack) -> None:
    client("rds").add_tags_to_resource(
        ResourceName=cluster, Tags=[{"Key": "cdc-lake-prepared-by-0123", "Value": f"{CLUSTER}/11111111/x"}]
    )
    data = source.create()
    assert data["Generation"] != "11111111"
    source.delete()
    keys = {tag["Key"] for tag in client("rds").list_tags_for_resource(ResourceName=cluster)["TagList"]}
    assert keys == {"cdc-lake-prepared-by-0123"}


BEAT = heartbeat_statement("cdc_shop")


@pytest.mark.integration
@pytest.mark.parametrize("beaten", [False, True])
def test_a_second_life_after_a_connector_may_have_missed_changes(
    database: ConnectionParameters, cluster: str, source: Stack, *, beaten: bool
) -> None:
    def missing() -> bool:
        found = client("rds").list_tags_for_resource(ResourceName=cluster)["TagList"]
        return any(tag["Key"] == resnapshot("shop") and tag["Value"].startswith("since 20") for tag in found)

    source.create()
    if beaten:
        execute(database, BEAT)
    # An update is no other life, and preparing again is no beat.
    source.update(source.but(tables=[table("items", "id"), table("notes", "id")], sqlHash="1"))
    assert not missing()
    source.delete()
    again = source.again()
    again.create()
    assert missing() == beaten
    again.update(again.but(sqlHash="2"))
    assert missing() == beaten


ENTRY: dict[str, Any] = {"source": "public.customers", "how": "log", "key": ["id"], "leave_out": ["photo"]}


def test_a_database_is_prepared_on_aws_for_the_same_tables_as_on_one_machine() -> None:
    tables = [ENTRY | {"hash": ["email"]}, {"source": "public.notes", "how": "log", "append_only": True}]
    shop = Pipeline.model_validate({"name": "shop", "source": {"database": "d"}, "tables": tables})
    sent = json.loads(json.dumps([table_request(table) for table in shop.tables]))
    assert wanted_tables(sent) == source_objects(shop).tables


def test_a_new_column_next_to_one_that_is_left_out_is_another_request(tmp_path: Path) -> None:
    tables = [ENTRY, {"source": "public.notes", "how": "log", "key": ["id"]}]
    shop = Pipeline.model_validate({"name": "shop", "source": {"database": "d"}, "tables": tables})
    (tmp_path / "shop").mkdir()
    sent = []
    for columns in (["id"], ["id", "email"]):
        for table in shop.tables:
            (tmp_path / shop.schema_file(table)).write_text(json.dumps({"fields": columns}))
        sent.append(table_requests(shop, tmp_path))
    (customers, notes), (wider, notes_again) = sent
    assert wider != customers
    assert notes_again == notes
    assert wanted_tables(sent[0]) == wanted_tables(sent[1]) == source_objects(shop).tables


def test_a_request_of_an_earlier_release_hashes_nothing() -> None:
    [table] = wanted_tables([{"schema": "public", "name": "a", "key": ["id"], "leaveOut": []}])
    assert table.hashed == frozenset()


@pytest.mark.parametrize("entry", [{}, {"schema": "public", "name": "a", "key": ["id"]}, "public.a"])
def test_what_is_no_table_is_refused(entry: Any) -> None:
    with pytest.raises(ResourceError, match="Request: tables: not a table"):
        wanted_tables([entry])


@pytest.mark.integration
def test_a_call_that_is_under_way_takes_no_table_out_after_its_rollback(
    database: ConnectionParameters, source: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.create(source.but(tables=[table("items", "id"), table("notes", "id")]))
    source.roll_back_in(monkeypatch, source_preparing, "prepare")
    with pytest.raises(DeploymentError, match="a later request has taken over"):
        source.begin_update(source.wanted).poll()
    assert "notes" in ask(database, PUBLISHED).split()
