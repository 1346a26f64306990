"""Tables that the job or the source connector fails at, without the services."""

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from contract.table_states import FAILING, LOADING
from db.connecting import LoadError
from local.errors import PlatformError
from local.look.lake import Lake, LakeError
from local.platform import supervisor
from local.platform.arriving import ENOUGH_S, PATIENCE_S, Arriving
from local.platform.connectors import Connectors, SetAside
from local.platform.job import TableState
from local.platform.platform import Platform
from local.platform.record import PORTS, PlatformOptions
from local.problem import failing
from local.sink.settings import HELD, Held, write_held
from plugins.source.captured import INCLUDED_TABLES, shown
from plugins.source.failures import Failure
from settings.load import SettingsFileError, load_pipeline
from spark_jobs.options.keys import PROGRESS
from tests.local.platform.built import moving, services
from tests.local.platform.test_pipeline import connectors

FIRST, SECOND = "public.address", "public.city"
LATER = PATIENCE_S - 1
END = 200
ALL, SOME = {"watermarks": {"t": "0/199_1_2.json"}}, {"watermarks": {"t": "0/49_1_2.json"}}
READS = TableState(state=LOADING, detail="1,200 of about 3,000 rows read")
FAILS = TableState(state=FAILING, detail="no such file")
GOES_ON = "; the load goes on: `./lake status` shows it"


@pytest.mark.parametrize(
    ("looks", "outcome"),
    [
        # At each look: the time, the tables in the lake with their progress, and those that the job fails at.
        pytest.param([(0, {FIRST: ALL}, set())], [SECOND], id="a table that isn't there is waited for"),
        pytest.param([(0, {FIRST: ALL}, set()), (2, {FIRST: ALL, SECOND: ALL}, set())], "", id="until all are there"),
        pytest.param([(0, {FIRST: ALL, SECOND: SOME}, set())], [SECOND], id="with all that has landed"),
        pytest.param(
            [(0, {FIRST: ALL, SECOND: {}}, set()), (ENOUGH_S, {FIRST: ALL, SECOND: SOME}, set())],
            f"250 of 400 events{GOES_ON}",
            id="what still moves after a while goes on",
        ),
        pytest.param(
            [(0, {FIRST: ALL, SECOND: SOME}, set()), (ENOUGH_S, {FIRST: ALL, SECOND: SOME}, set())],
            [SECOND],
            id="what doesn't move is waited for",
        ),
        pytest.param([(0, {}, {FIRST}), (2 * PATIENCE_S, {}, {FIRST})], [FIRST, SECOND], id="the other"),
        pytest.param(
            [(0, {}, {FIRST}), (90, {SECOND: ALL}, {FIRST}), (90 + PATIENCE_S, {SECOND: ALL}, {FIRST})],
            {FIRST},
            id="fails",
        ),
        pytest.param([(0, {}, {FIRST, SECOND}), (PATIENCE_S, {}, {FIRST, SECOND})], {FIRST, SECOND}, id="both"),
        pytest.param(
            [
                (0, {SECOND: ALL}, {FIRST}),
                (LATER, {SECOND: ALL}, set()),
                (LATER, {SECOND: ALL}, {FIRST}),
                (30, {SECOND: ALL}, {FIRST}),
            ],
            [FIRST],
            id="its time begins again after an attempt that works",
        ),
    ],
)
def test_new_tables_are_waited_for_and_failing_ones_named_once_only_they_are_left(
    looks: list[tuple[float, dict[str, Any], set[str]]],
    outcome: list[str] | set[str] | str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`outcome`: what is still waited for, the tables that are named as failing, or the note at the end."""
    two, there = services(tmp_path, "pagila").tables[:2], dict[str, Any]()

    def newest(lake: Lake) -> tuple[str, dict[str, str]]:
        [name] = [table.name for table in two if table.lake == lake]
        if name not in there:
            raise LakeError("no table yet")
        return "20261127000000000", {PROGRESS: json.dumps(there[name])}

    s3: Any = Mock(**{"list_objects_v2.return_value": {"Contents": [{"Key": "0/250_1_2.json"}]}})
    monkeypatch.setattr(Lake, "newest_of_job", newest)
    monkeypatch.setattr(Lake, "exists", lambda _self: False)
    arriving, over = Arriving(two, {table.topic.name: END for table in two}, s3), False

    def look_at_all() -> None:
        nonlocal over
        for now, found, fails in looks:
            there.clear()
            there.update(found)
            monkeypatch.setattr("local.platform.arriving.time.monotonic", lambda now=now: now)
            states = {table.job_name: FAILS for table in two if table.name in fails}
            over = arriving.is_over({table.lake_name for table in two}, states, lambda _progress: None)

    monkeypatch.setattr("local.platform.arriving.time.monotonic", lambda: 0)
    arriving._began = arriving._moved = 0
    if isinstance(outcome, set):
        with pytest.raises(PlatformError) as said:
            look_at_all()
        line, *tables = str(said.value).splitlines()
        assert line.startswith(f"{len(outcome)} of 2 tables aren't in the lake: the job fails at them, and tries again")
        assert tables == [f"    {failing(name, 'no such file')}" for name in sorted(outcome)]
        return
    look_at_all()
    assert over is isinstance(outcome, str)
    assert (arriving.note() if over else [table.name for table in arriving.left]) == outcome


@pytest.mark.parametrize(
    ("first_load", "was_there", "progress", "note"),
    [
        ("direct", False, f"{FIRST}: 1,200 of about 3,000 rows read, and 1 more", None),
        # After a restart, what is on its way isn't waited for.
        ("connector", True, "", f"100 of 400 events{GOES_ON}"),
    ],
)
def test_what_is_on_its_way_is_told(
    first_load: str, was_there: bool, progress: str, note: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = [
        replace(table, entry=table.entry.model_copy(update={"first_load": first_load}))
        for table in services(tmp_path, "pagila").tables[:2]
    ]
    s3: Any = Mock(**{"list_objects_v2.return_value": {"Contents": [{"Key": "0/250_1_2.json"}]}})
    monkeypatch.setattr(Lake, "exists", lambda _self: was_there)
    monkeypatch.setattr(Lake, "newest_of_job", lambda _self: ("20261127000000000", {PROGRESS: json.dumps(SOME)}))
    arriving, said = Arriving(two, {table.topic.name: END for table in two}, s3), [""]
    over = arriving.is_over({t.lake_name for t in two}, {t.job_name: READS for t in two}, said.append)
    assert (over, said[-1]) == (was_there, progress)
    assert note is None or arriving.note() == note


TABLES = ("address", "city", "country", "customer", "rental")


def captured(found: Connectors) -> list[str]:
    return [shown(pattern) for pattern in found.source_configuration[INCLUDED_TABLES].split(",")]


def test_all_tables_but_the_last_are_left_out_of_the_connector_and_keep_their_topics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = connectors(tmp_path, "pagila")
    topics = found.source.topics
    # The connector fails at one table after the other.
    failures = [Failure(reason="run `./lake resnapshot -p pagila`", table=f"public.{name}") for name in TABLES]
    found._services.connect.api = Mock(**{"failed.side_effect": failures})
    monkeypatch.setattr(Connectors, "start_source", lambda _self: None)
    # A table is set aside even when the source is down.
    monkeypatch.setattr("local.platform.connectors.connect", Mock(side_effect=LoadError("the database is away")))
    aside = [found.set_aside() for _ in TABLES]
    assert aside == [f"public.{name}" for name in TABLES[:-1]] + [None]
    assert captured(found) == ["public.rental"]
    assert set(found.aside.read().values()) == {"run `./lake resnapshot -p pagila`"}
    assert connectors(tmp_path, "pagila").source.topics == topics


def test_a_file_that_is_corrupt_leaves_no_table_out(tmp_path: Path) -> None:
    path = tmp_path / "connect" / "set-aside.json"
    SetAside(path).write({"public.city": "it fails"})
    assert "public.city" not in captured(connectors(tmp_path, "pagila"))
    for content in ("{", "[]", "null"):
        path.write_text(content)
        assert "public.city" in captured(connectors(tmp_path, "pagila"))


@pytest.mark.parametrize(
    ("running", "there", "aside", "starts"),
    [
        pytest.param([FIRST, SECOND], False, [], True, id="captured"),
        pytest.param([FIRST], False, [], False, id="added since"),
        pytest.param([], False, [], False, id="no connector yet"),
        pytest.param([FIRST], True, [], True, id="loaded before"),
        pytest.param([FIRST], False, [SECOND], True, id="set aside, which a comparison repairs"),
    ],
)
def test_the_job_reads_no_first_rows_before_their_table_is_captured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, running: list[str], aside: list[str], *, there: bool, starts: bool
) -> None:
    """A supervisor starts it, too, maybe after an `up` that failed at the connector: deletes would be lost."""
    found = services(tmp_path, "pagila")
    found.tables = tuple(
        replace(table, entry=table.entry.model_copy(update={"first_load": "direct"})) for table in found.tables[:2]
    )
    configuration = {INCLUDED_TABLES: ",".join(running)} if running else {}
    found.connect.api = Mock(**{"configuration.return_value": configuration})
    started = Mock()
    monkeypatch.setattr(Lake, "exists", lambda _self: there)
    monkeypatch.setattr("local.platform.pipeline.start_job", started)
    monkeypatch.setattr(Platform, "_built", lambda *_: (found, moving(found)))
    platform = Platform(tmp_path, PlatformOptions(pipeline="pagila"))
    platform.record.write(platform.options, found.ports, frozenset({"job"}))
    SetAside(tmp_path / "connect" / "set-aside.json").write(dict.fromkeys(aside, "it fails"))
    with nullcontext() if starts else pytest.raises(PlatformError, match=rf"{SECOND} isn't captured yet: `\./lake up`"):
        platform.revive("job")
    assert started.called is starts


def test_each_table_that_nothing_comes_of_has_a_line_with_its_way_out(tmp_path: Path) -> None:
    found = services(tmp_path, "pagila")
    (tmp_path / "sink").mkdir()
    record = Held(
        topic="pagila.public.rental", partition=0, offset=7, reason="pagila.public.rental[0] offset 7: no JSON"
    )
    write_held(tmp_path / "sink" / HELD, [record])
    aside = SetAside(tmp_path / "connect" / "set-aside.json")
    aside.write(dict.fromkeys(("public.city", "public.former"), "it fails"))
    with pytest.raises(PlatformError) as said:
        moving(found).check_all_flow()
    assert str(said.value).splitlines() == [
        "2 of 5 tables are set aside",
        "    table public.city is set aside: it fails",
        "    table public.rental is set aside: the sink refuses pagila.public.rental[0] offset 7: no JSON; nothing"
        " behind it is landed; `./lake resnapshot -p pagila -t public.rental` passes over it and reads the table again",
    ]


def test_an_edit_that_no_up_has_brought_keeps_nothing_from_being_restarted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    applied = load_pipeline("pagila")
    monkeypatch.setattr("local.platform.platform.load_pipeline", Mock(side_effect=SettingsFileError("half an edit")))
    platform = Platform(tmp_path, PlatformOptions(pipeline="pagila"), applied)
    platform.record.write(platform.options, {name: 20_000 + n for n, name in enumerate(PORTS)}, frozenset({"job"}))
    assert platform.lost_passwords()
    begun = Mock()
    monkeypatch.setattr(supervisor, "load_pipeline", Mock(side_effect=SettingsFileError("half an edit")))
    monkeypatch.setattr(supervisor, "Supervisor", begun)
    monkeypatch.setattr("signal.signal", Mock())
    supervisor.supervise(tmp_path, lenses=None, job=True)
    begun.return_value.run.assert_called_once()
    assert platform.services.pipeline == applied
