"""How long `up` waits for tables that the job fails at."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from contract.table_states import FAILING, RUNNING
from local.errors import FailingTablesError
from local.platform.job import TableState
from local.platform.services import LocalTable
from local.platform.waiting import PATIENCE_S, AwaitedTables
from tests.local.platform.built import services

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


def test_an_attempt_that_is_not_over_is_waited_for(world: World) -> None:
    first, second = world.tables
    world.there, world.states = {second.name}, {first.job_name: TableState(state=FAILING)}
    awaited = world.awaited
    for world.now in (0, 2 * PATIENCE_S):
        assert not awaited.arrived()
