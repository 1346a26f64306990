"""Tables that the job or the source connector fails at, without the services."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest

from contract.table_states import FAILING, RUNNING
from db.connecting import LoadError
from local.errors import FailingTablesError
from local.platform.connectors import Connectors, SetAside
from local.platform.job import TableState
from local.platform.services import LocalTable
from local.platform.waiting import PATIENCE_S, AwaitedTables
from local.sink.settings import HELD, Held, write_held
from plugins.source.captured import INCLUDED_TABLES, shown
from plugins.source.failures import Failure
from tests.local.platform.built import moving, services
from tests.local.platform.test_pipeline import connectors

BROKEN = TableState(state=FAILING, reason="address.avsc: no such file")


@dataclass
class World:
    """Two tables of an example: which are in the lake, what the job reports, and the time."""

    tables: tuple[LocalTable, ...]
    there: set[str] = field(default_factory=set)
    states: dict[str, TableState] = field(default_factory=dict)
    now: float = 0.0

    def absent(self, tables: Sequence[LocalTable]) -> list[LocalTable]:
        return [table for table in tables if table.name not in self.there]

    @property
    def awaited(self) -> AwaitedTables:
        return AwaitedTables(self.tables, absent=self.absent, states=lambda: self.states, clock=lambda: self.now)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tables=services(tmp_path, "pagila").tables[:2])


def test_all_tables_are_waited_for(world: World) -> None:
    first, second = world.tables
    awaited = world.awaited
    world.there = {first.name}
    assert not awaited.arrived()
    assert awaited.missing() == second.name
    world.there = {first.name, second.name}
    assert awaited.arrived()
    assert awaited.missing() == ""


def test_a_failing_table_ends_the_wait_with_its_reason_once_the_others_are_there(world: World) -> None:
    first, second = world.tables
    world.states = {first.job_name: BROKEN, second.job_name: TableState(state=RUNNING)}
    awaited = world.awaited
    for world.now in (0, 2 * PATIENCE_S):
        assert not awaited.arrived(), "the other one isn't there yet"
    world.there = {second.name}
    assert not awaited.arrived()
    world.now += PATIENCE_S
    with pytest.raises(FailingTablesError) as said:
        awaited.arrived()
    line, *tables = str(said.value).splitlines()
    assert line.startswith("1 of 2 tables aren't in the lake: the job fails at them, and tries again")
    assert tables == [f"    table {first.name} fails: {BROKEN.reason}"]


def test_each_failing_table_has_a_line(world: World) -> None:
    world.states = {table.job_name: BROKEN for table in world.tables}
    awaited = world.awaited
    assert not awaited.arrived()
    world.now = PATIENCE_S
    with pytest.raises(FailingTablesError) as said:
        awaited.arrived()
    assert len(str(said.value).splitlines()) == 3


def test_a_table_that_the_next_attempt_mends_is_waited_for(world: World) -> None:
    first, second = world.tables
    world.there, world.states = {second.name}, {first.job_name: BROKEN}
    awaited = world.awaited
    assert not awaited.arrived()
    world.states = {first.job_name: TableState(state=RUNNING)}
    world.now = PATIENCE_S
    assert not awaited.arrived()
    world.states = {first.job_name: BROKEN}
    world.now = 2 * PATIENCE_S - 1
    assert not awaited.arrived(), "its time begins anew"
    world.there.add(first.name)
    assert awaited.arrived()


TABLES = ("address", "city", "country", "customer", "rental")


class FailingWorker:
    """Stands in for ConnectApi: the connector fails at one table after the other."""

    def __init__(self) -> None:
        self.left = [f"public.{name}" for name in TABLES]

    def failed(self, _name: str) -> Failure:
        return Failure(reason="run `./lake resnapshot -p pagila`", table=self.left.pop(0))


def away(_parameters: Any) -> NoReturn:
    raise LoadError("the database is away")


def captured(found: Connectors) -> list[str]:
    return [shown(pattern) for pattern in found.source_configuration[INCLUDED_TABLES].split(",")]


def test_all_tables_but_the_last_are_left_out_of_the_connector_and_keep_their_topics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = connectors(tmp_path, "pagila")
    topics = found.source.topics
    worker: Any = FailingWorker()
    found._services.connect.api = worker
    monkeypatch.setattr(Connectors, "start_source", lambda _self: None)
    # A table is set aside even when the source is down.
    monkeypatch.setattr("local.platform.connectors.connect", away)
    aside = [found.set_aside() for _ in TABLES]
    assert aside == [f"public.{name}" for name in TABLES[:-1]] + [None]
    assert captured(found) == ["public.rental"]
    assert set(found.aside.read().values()) == {"run `./lake resnapshot -p pagila`"}
    assert connectors(tmp_path, "pagila").source.topics == topics


def test_a_file_that_is_corrupt_leaves_no_table_out(tmp_path: Path) -> None:
    path = tmp_path / "connect" / "set-aside.json"
    SetAside(path).put("public.city", "it fails")
    assert "public.city" not in captured(connectors(tmp_path, "pagila"))
    for content in ("{", "[]", "null"):
        path.write_text(content)
        assert "public.city" in captured(connectors(tmp_path, "pagila"))


def test_each_table_that_nothing_comes_of_has_a_line_with_its_way_out(tmp_path: Path) -> None:
    found = services(tmp_path, "pagila")
    (tmp_path / "sink").mkdir()
    record = Held(
        topic="pagila.public.rental", partition=0, offset=7, reason="pagila.public.rental[0] offset 7: no JSON"
    )
    write_held(tmp_path / "sink" / HELD, [record])
    aside = SetAside(tmp_path / "connect" / "set-aside.json")
    for name in ("public.city", "public.former"):
        aside.put(name, "it fails")
    with pytest.raises(FailingTablesError) as said:
        moving(found).check_all_flow()
    assert str(said.value).splitlines() == [
        "2 of 5 tables are set aside",
        "    table public.city: it fails",
        "    table public.rental: the sink refuses pagila.public.rental[0] offset 7: no JSON; nothing behind it is"
        " landed: `./lake resnapshot -p pagila -t public.rental` passes over it and reads the table again",
    ]
    assert json.loads(aside._path.read_text())["public.former"]
    assert aside.take_back(["public.city", "public.rental"]) == ["public.city"]
