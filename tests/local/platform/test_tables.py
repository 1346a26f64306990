"""Tables that the job or the source connector fails at, without the services."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from contract.table_states import FAILING, RUNNING
from db.connecting import LoadError
from local.errors import FailingTablesError
from local.look.lake import Lake
from local.platform.connectors import Connectors, SetAside
from local.platform.job import TableState
from local.platform.pipeline import PATIENCE_S
from local.problem import failing
from local.sink.settings import HELD, Held, write_held
from plugins.source.captured import INCLUDED_TABLES, shown
from plugins.source.failures import Failure
from tests.local.platform.built import moving, services
from tests.local.platform.test_pipeline import connectors

FIRST, SECOND = "public.address", "public.city"
LATER = PATIENCE_S - 1


@pytest.mark.parametrize(
    ("looks", "outcome"),
    [
        # At each look: the time, the tables in the lake, and those that the job fails at.
        pytest.param([(0, {FIRST}, set())], SECOND, id="a table that isn't there is waited for"),
        pytest.param([(0, {FIRST}, set()), (1, {FIRST, SECOND}, set())], True, id="until all are there"),
        pytest.param([(0, set(), {FIRST}), (2 * PATIENCE_S, set(), {FIRST})], f"{FIRST}, {SECOND}", id="the other"),
        pytest.param(
            [(0, set(), {FIRST}), (90, {SECOND}, {FIRST}), (90 + PATIENCE_S, {SECOND}, {FIRST})], {FIRST}, id="fails"
        ),
        pytest.param([(0, set(), {FIRST, SECOND}), (PATIENCE_S, set(), {FIRST, SECOND})], {FIRST, SECOND}, id="both"),
        pytest.param(
            [(0, {SECOND}, {FIRST}), (LATER, {SECOND}, set()), (LATER, {SECOND}, {FIRST}), (30, {SECOND}, {FIRST})],
            FIRST,
            id="its time begins again after an attempt that works",
        ),
    ],
)
def test_tables_are_waited_for_and_failing_ones_named_once_only_they_are_left(
    looks: list[tuple[float, set[str], set[str]]],
    outcome: str | set[str] | bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`outcome`: True, what is still waited for, or the tables that are named as failing."""
    found = services(tmp_path, "pagila")
    two, pipeline = found.tables[:2], moving(found)
    ends: list[bool | str] = []

    def wait(_what: str, reached: Callable[[], bool], *, service: str, missing: Callable[[], str]) -> None:
        assert service == "job"
        for now, there, fails in looks:
            states = {
                table.job_name: TableState(state=FAILING if table.name in fails else RUNNING, reason="no such file")
                for table in two
            }
            monkeypatch.setattr(pipeline, "table_states", lambda states=states: states)
            monkeypatch.setattr("local.platform.pipeline.time.monotonic", lambda now=now: now)
            monkeypatch.setattr(
                found.aws, "tables", lambda _, there=there: {t.lake_name for t in two if t.name in there}
            )
            ends.append(reached() or missing())

    monkeypatch.setattr(pipeline, "_wait", wait)
    monkeypatch.setattr(pipeline, "awaited", lambda: list(two))
    monkeypatch.setattr(Lake, "exists", lambda _self: True)
    if isinstance(outcome, set):
        with pytest.raises(FailingTablesError) as said:
            pipeline.wait_lake()
        line, *tables = str(said.value).splitlines()
        assert line.startswith(f"{len(outcome)} of 2 tables aren't in the lake: the job fails at them, and tries again")
        assert tables == [f"    {failing(name, 'no such file')}" for name in sorted(outcome)]
    else:
        pipeline.wait_lake()
        assert ends[-1] == outcome


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
        "    table public.city is set aside: it fails",
        "    table public.rental is set aside: the sink refuses pagila.public.rental[0] offset 7: no JSON; nothing"
        " behind it is landed; `./lake resnapshot -p pagila -t public.rental` passes over it and reads the table again",
    ]
    assert json.loads(aside._path.read_text())["public.former"]
    assert aside.take_back(["public.city", "public.rental"]) == ["public.city"]
