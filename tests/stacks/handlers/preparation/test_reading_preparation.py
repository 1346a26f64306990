"""How the handler prepares a role for query-based pipelines; PostgreSQL behind TLS stands in for RDS."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local.services.postgres import ConnectionParameters
from settings.pipeline import Pipeline
from spark_jobs.sources.postgres.relation import written_since
from stacks.handlers import preparation
from stacks.preparation_requests import table_request
from tests.conftest import ask, execute
from tests.stacks.handlers.cloudformation import DeploymentError, Stack, World, failing
from tests.stacks.handlers.preparation.cluster import others_secrets, others_server, server_request
from tests.tls import Authority

pytestmark = pytest.mark.integration

ROLE, PASSWORD = "cdc_places", "a-Password1"
TABLES = """
CREATE TABLE address (id int PRIMARY KEY, street text, phone text, city_id int);
CREATE TABLE city (id int PRIMARY KEY, city text, mayor text);
CREATE TABLE payroll (id int PRIMARY KEY, salary int);
CREATE SCHEMA away;
CREATE TABLE away.region (id int PRIMARY KEY, name text);
CREATE VIEW public.region AS SELECT id, name FROM away.region;
"""
ENTRY = {"source": "public.address", "how": "query", "key": ["id"], "leave_out": ["phone"]}
[ADDRESS] = Pipeline.model_validate({"name": "places", "source": {"database": "d"}, "tables": [ENTRY]}).tables
QUERY = """
SELECT a.id, a.street, c.city, r.name FROM public.address a JOIN public.city c ON c.id = a.city_id
LEFT JOIN public.region r ON r.id = c.id -- a comment"""


@pytest.fixture
def server(database: ConnectionParameters, authority: Authority, tmp_path: Path) -> Iterator[int]:
    execute(database, TABLES)
    with others_server(database, authority, tmp_path, ROLE) as port:
        yield port


@pytest.fixture
def source(manager: Any, world: World, database: ConnectionParameters, server: int, authority: Authority) -> Stack:
    others_secrets(manager, database, reader=(ROLE, PASSWORD))
    wanted = server_request(
        database,
        server,
        authority,
        readerSecretArn="reader",
        pipeline="places",
        role=ROLE,
        tables=[table_request(ADDRESS)],
        queries={"query.place": QUERY},
        seesWriters=False,
    )
    return Stack(world, preparation, "PlacesReadSource", wanted=wanted)


def readable(database: ConnectionParameters) -> set[str]:
    """Each column that the role may read."""
    found = ask(
        database,
        "SELECT json_agg(c.relname || '.' || a.attname) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
        "AND a.attnum > 0 WHERE c.relnamespace IN ('public'::regnamespace, 'away'::regnamespace) "
        f"AND c.relkind IN ('r', 'v') AND has_column_privilege('{ROLE}', c.oid, a.attnum, 'SELECT')",
    )
    return set(found or [])


def test_a_call_that_is_under_way_takes_no_right_away_after_its_rollback(
    database: ConnectionParameters, source: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    city = {**table_request(ADDRESS), "name": "city", "leaveOut": []}
    source.create(source.but(tables=[city]))
    source.roll_back_in(monkeypatch, preparation, "grant_reader")
    with pytest.raises(DeploymentError, match="a later request has taken over"):
        source.begin_update(source.but(tables=[{**city, "leaveOut": ["mayor"]}])).poll()
    assert "city.mayor" in readable(database)


def test_the_role_reads_tables_and_of_others_what_queries_name(database: ConnectionParameters, source: Stack) -> None:
    source.create()
    assert readable(database) == {
        *("address.id", "address.street", "address.city_id"),
        *("city.id", "city.city"),
        # A view reads with its owner's rights; the role has none on the table behind it.
        *("region.id", "region.name"),
    }
    # The job's query for changed rows.
    changed = written_since(3, new_members=[1])
    role: dict[str, Any] = {**database, "user": ROLE, "password": PASSWORD}
    assert ask(role, f"SELECT count(*) FILTER (WHERE {changed}) FROM public.address AS t") == 0
    attributes = "rolcanlogin, rolsuper, rolreplication, rolcreaterole, rolbypassrls"
    found = ask(database, f"SELECT row_to_json(r) FROM (SELECT {attributes} FROM pg_roles WHERE rolname = '{ROLE}') r")
    assert [name for name, value in found.items() if value] == ["rolcanlogin"]
    writable = (
        "SELECT count(*) FROM pg_class c WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND "
        f"(has_any_column_privilege('{ROLE}', c.oid, 'INSERT, UPDATE') "
        f"OR has_table_privilege('{ROLE}', c.oid, 'DELETE'))"
    )
    assert ask(database, writable) == 0
    # Once more, as a deployment with newer SQL does, and excluding a column that was read.
    fewer = {"schema": "public", "name": "city", "key": ["id"], "leaveOut": ["mayor"], "hash": []}
    source.update(source.but(sqlHash="1", tables=[fewer], queries={}))


def test_who_looks_by_a_column_sees_who_is_writing(database: ConnectionParameters, source: Stack) -> None:
    source.create(source.but(seesWriters=True))
    assert ask(database, f"SELECT pg_has_role('{ROLE}', 'pg_read_all_stats', 'USAGE')") is True
    assert ask(database, f"SELECT pg_has_role('{ROLE}', 'pg_monitor', 'MEMBER')") is False


def test_without_an_owner_what_a_dba_has_granted_is_enough(database: ConnectionParameters, source: Stack) -> None:
    execute(database, f"CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}'")
    execute(database, f"GRANT SELECT ON city, region, address TO {ROLE}")
    source.create(source.but(ownerSecretArn=""))
    source.delete()
    assert ask(database, f"SELECT count(*) FROM pg_roles WHERE rolname = '{ROLE}'") == 1


def test_without_an_owner_each_thing_that_cannot_be_read_is_said(database: ConnectionParameters, source: Stack) -> None:
    execute(database, f"CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}'")
    execute(database, f"GRANT SELECT (id) ON address TO {ROLE}; ALTER TABLE city ENABLE ROW LEVEL SECURITY")
    tables = [table_request(ADDRESS) | {"name": name, "leaveOut": []} for name in ("address", "city", "nowhere")]
    reason = failing(source.create, source.but(ownerSecretArn="", tables=tables))
    for line in (
        f"public.address: {ROLE} may not read street, phone, city_id: GRANT SELECT on it, or leave it out",
        "public.city: row security is on",
        "public.nowhere: no such table",
        "query.place: PostgreSQL refused: permission denied for",
    ):
        assert line in reason
    assert readable(database) == {"address.id"}


@pytest.mark.parametrize("attribute", ["REPLICATION", "BYPASSRLS", "CREATEROLE"])
def test_a_role_for_more_than_reading_is_refused(database: ConnectionParameters, source: Stack, attribute: str) -> None:
    execute(database, f"CREATE ROLE {ROLE} LOGIN {attribute} PASSWORD '{PASSWORD}'")
    assert "may more than read: name another one" in failing(source.create)
    assert readable(database) == set()


def test_a_secret_of_another_user_is_refused(source: Stack) -> None:
    assert "its job reads as other: set `role`" in failing(source.create, source.but(role="other"))
