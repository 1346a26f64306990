"""The comparison of the job with others: what each is told, whose turn it is, and what is shown."""

import json
import subprocess
import sys
from collections.abc import Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from bench import against_others, cases, hoodie_streamer, results
from bench import job as running_job
from bench import query_trial as trial
from bench.against_others import TITLES, WARM, Cost, Place, Way
from bench.cases import CASES
from cli.__main__ import app
from local.errors import PlatformError
from local.setup import jars
from spark_jobs.options import keys
from spark_jobs.runtime.session import DEFAULTS, FIXED

TIMELINE_OF_OBJECTS = """
import time
from pathlib import Path
landing, timeline = Path({landing!r}), Path({timeline!r})
timeline.mkdir(parents=True)
while True:
    for path in landing.rglob("*_1_2.json"):
        assert path.read_text().endswith("}}\\n")
        (timeline / f"{{path.name}}.commit").touch()
    time.sleep(0.001)
"""


CASE = CASES["copy-on-write"]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, tmp_path / "spark", CASE)


def replaced(place: Place, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Run a program in place of the job."""
    (place.folder / "job-work").mkdir()
    command = [sys.executable, "-c", program], dict[str, str]()
    monkeypatch.setattr(Place, "_command", lambda *_given, **_more: command)


@pytest.mark.parametrize("own", [False, True])
def test_hoodie_streamer_is_told_the_jobs_table_or_only_what_no_default_knows(own: bool) -> None:
    of_job = cases.arguments(CASE, "landing", "table", Path("source.avsc"))
    options = cases.table_of(of_job).write_options
    columns = ["a AS b", "__op = 'd' AS _hoodie_is_deleted"]
    told = hoodie_streamer.arguments(of_job, options, columns, Path("target.avsc"), own=own)
    pairs = list(zip(told[::2], told[1::2], strict=True))
    given = dict(value.split("=", 1) for key, value in pairs if key == "--hoodie-conf")
    of_hudi = {key: value for key, value in given.items() if not key.startswith("hoodie.streamer.")}
    assert ({*of_hudi} == {keys.RECORD_KEY, keys.PARTITION_PATH, keys.KEY_GENERATOR}) if own else of_hudi == options
    assert given[keys.TRANSFORMER_SQL] == "SELECT a AS b, __op = 'd' AS _hoodie_is_deleted FROM <SRC>"
    assert given[keys.TARGET_SCHEMA_FILE] == "target.avsc"
    assert given[keys.FILES_ROOT] == "landing"
    options_given = dict(pairs)
    assert options_given["--source-ordering-field"] == "__lsn"
    assert options_given["--min-sync-interval-seconds"] == "0"
    assert ("--payload-class" in options_given) is not own
    assert not {"--props", "--continuous", "--enable-sync"} & {*told}


@pytest.mark.parametrize("own", [False, True])
def test_hoodie_streamer_runs_on_its_own_spark_with_the_jobs_settings_or_without(
    own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted = ["spark-submit", "--properties-file", "settings", "job"]
    monkeypatch.setattr(
        hoodie_streamer, "spark_submit", lambda *_given, **_more: (submitted, {"SPARK_LAUNCHER_OPTS": "-Xshare"})
    )
    argv, environment = hoodie_streamer.command(["--op"], tmp_path / "spark", tmp_path, own=own)
    assert argv[0] == str(tmp_path / "spark" / "bin" / "spark-submit")
    assert argv[-4:] == ["--class", "org.apache.hudi.utilities.streamer.HoodieStreamer", "spark-internal", "--op"]
    assert environment["SPARK_HOME"] == str(tmp_path / "spark")
    settings = dict(argv[at + 1].split("=", 1) for at, part in enumerate(argv) if part == "--conf")
    assert (argv[1:3] == submitted[1:3]) is not own
    assert (settings.items() >= (DEFAULTS | FIXED).items()) is not own
    assert ("SPARK_LAUNCHER_OPTS" in environment) is not own
    assert settings.get("spark.master") == ("local[2]" if own else None)
    assert "archive" not in argv


def test_it_polls_the_table_of_a_query_based_job(tmp_path: Path) -> None:
    database = {"host": "h", "port": 1, "dbname": "d", "user": "u", "password": "p"}
    of_job = trial.job_arguments(database, tmp_path, sweep_seconds=1)
    told = hoodie_streamer.polling(of_job, cases.table_of(of_job).write_options, "last_update", 2)
    given = dict(value.split("=", 1) for key, value in pairwise(told) if key == "--hoodie-conf")
    assert {key.removeprefix(keys.JDBC_PREFIX): value for key, value in given.items() if keys.JDBC_PREFIX in key} == {
        "url": "jdbc:postgresql://h:1/d",
        "user": "u",
        "password.file": str(tmp_path / "password"),
        "table.name": "public.address",
        "driver.class": "org.postgresql.Driver",
        "incr.pull": "true",
        "table.incr.column.name": "last_update",
        "extra.options.fetchsize": "10000",
    }
    assert told[told.index("--source-ordering-field") + 1] == "last_update"
    assert told[told.index("--min-sync-interval-seconds") + 1] == "2"
    assert given[keys.RECORD_KEY] == "address_id"


def test_its_classes_get_their_bundles_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    downloaded, calls = tmp_path / "jars", list[list[Any]]()
    downloaded.mkdir()
    for name in ("hudi-utilities_2.12-0.14.0.jar", "jarjar-assembly-1.8.1.jar", "spark-core.jar"):
        (downloaded / name).touch()
    clients = tmp_path / "spark"
    clients.mkdir()
    for name in ("hadoop-aws-3.3.4.jar", "spark-core-of-another.jar"):
        (clients / name).touch()
    folders = {hoodie_streamer.JARS: downloaded, "spark": clients, "postgresql": tmp_path / "none"}
    (tmp_path / "none").mkdir()
    fetched = list[str]()
    monkeypatch.setattr(hoodie_streamer, "fetch", fetched.extend)
    monkeypatch.setattr(hoodie_streamer, "jar_folder", folders.__getitem__)
    monkeypatch.setattr(hoodie_streamer, "java_binary", lambda: "java")
    monkeypatch.setattr(subprocess, "run", lambda command, check: calls.append([*command, check]))
    assert hoodie_streamer.install(tmp_path / "home") == tmp_path / "home"
    assert fetched == [hoodie_streamer.JARS]
    linked = {path.name for path in (tmp_path / "home" / "jars").iterdir()}
    assert linked == {"spark-core.jar", "hadoop-aws-3.3.4.jar"}
    ((_, _, jarjar, _, rules, classes, renamed, check),) = calls
    assert (jarjar.name, classes.parent, renamed.parent, check) == (
        "jarjar-assembly-1.8.1.jar",
        downloaded,
        tmp_path / "home" / "jars",
        True,
    )
    assert rules.read_text().splitlines()[0] == ("rule com.beust.jcommander.** org.apache.hudi.com.beust.jcommander.@1")


def test_the_table_has_dates_times_and_what_marks_deletes() -> None:
    record = json.loads(hoodie_streamer.target_schema(CASE.schema))
    types = {field["name"]: field["type"] for field in record["fields"]}
    assert types["order_date"] == ["null", {"type": "int", "logicalType": "date"}]
    assert types["updated_at"] == ["null", {"type": "long", "logicalType": "timestamp-micros"}]
    assert types["order_id"] == "int"
    assert types["_hoodie_is_deleted"] == ["null", "boolean"]


def test_each_case_has_the_rows_and_the_table_that_it_says() -> None:
    def columns(case: cases.Case) -> set[str]:
        event = json.loads(next(case.first(1)))
        fields = json.loads(case.schema)["fields"]
        assert [*event] == [field["name"] for field in fields]
        return {name for name in event if not name.startswith("__")}

    assert {name: len(columns(case)) for name, case in CASES.items()} == {**dict.fromkeys(CASES, 12), "30-columns": 30}
    tables = {name: cases.table_of(cases.arguments(case, "in", "out", Path("x.avsc"))) for name, case in CASES.items()}
    assert {name for name, table in tables.items() if table.table_type == "MERGE_ON_READ"} == {"merge-on-read"}
    assert {name: table.partition_fields for name, table in tables.items() if table.partition_fields} == {
        "100-partitions": ("customer_id",)
    }
    changes = [json.loads(line) for line in CASES["100-partitions"].later(2000, 1000)]
    homes = {(event["order_id"], event["customer_id"]) for event in changes}
    assert len({customer for _, customer in homes}) == 100
    assert len(homes) == len({order for order, _ in homes})


def test_small_commits_are_measured_once_the_jvm_is_warm(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    landing, timeline = (str(place.folder / name) for name in ("landing/job", "lake/job/.hoodie"))
    replaced(place, monkeypatch, TIMELINE_OF_OBJECTS.format(landing=landing, timeline=timeline))
    objects = [list(CASE.first(20)), *([line] for line in CASE.later(WARM + 3, 20))]
    cost = place.commit(Way.JOB, objects)
    assert len(cost.wall) == 3
    assert all(0 < seconds < 30 for seconds in cost.wall)
    assert cost.cpu >= 0
    assert cost.megabytes > 1
    assert cost.requests is None
    names = sorted(path.name for path in (place.folder / "landing" / "job" / "0").iterdir())
    assert names[:2] == ["000000000019_1_2.json", "000000000020_1_2.json"]
    assert len(names) == 1 + WARM + 3


def test_what_fails_is_one_line(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    replaced(place, monkeypatch, "raise SystemExit('no\\n  such table')")
    with pytest.raises(PlatformError, match=r"^job has ended with 1: no such table$"):
        place.run(Way.JOB, place.folder)
    with pytest.raises(PlatformError, match=r"^the job has ended before commit 1: no such table$"):
        place.commit(Way.JOB, [["{}"]])
    monkeypatch.setattr(running_job, "TIMEOUT_S", 0.2)
    monkeypatch.setattr(Place, "_command", lambda *_given: (["sleep", "60"], {}))
    with pytest.raises(PlatformError, match=r"^job hasn't ended within 0.2 s$"):
        place.run(Way.JOB, place.folder)


def test_medians_spread_and_the_jobs_share_are_shown() -> None:
    costs = {
        ("1 event", Way.JOB): [Cost(cpu, [wall], 900.4) for cpu, wall in ((6.0, 4.0), (8.0, 5.0), (7.0, 3.0))],
        ("1 event", Way.PLAIN): [Cost(10.0, [2.0], 800.0)],
        ("20 commits", Way.OWN): [Cost(1.25, [0.01 * at for at in range(1, 11)], 700.0, 99.5) for _ in range(2)],
    }
    rows = against_others.shown(costs, {Way.STREAMER: "1 event: no such class"})
    assert [[*map(results.text, row)] for row in rows] == [
        ["1 event", TITLES[Way.JOB], "7.00 (6.00-8.00)", "4.00 (3.00-5.00)", "", "900", "", "1.00"],
        ["1 event", TITLES[Way.PLAIN], "10.0", "2.00", "", "800", "", "0.70"],
        ["20 commits", TITLES[Way.OWN], "1.25 (1.25-1.25)", "0.06 (0.01-0.10)", "0.10", "700", "99.5 (99.5-99.5)", ""],
        ["failed", TITLES[Way.STREAMER], "1 event: no such class", "", "", "", "", ""],
    ]


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Whose turn it was; nothing runs. The second comparison finds a difference; `streamer` fails at its second run."""
    taken, alike = list[str](), [True] * 6 + [False, True]

    def turn(way: Way, mode: str = "") -> Cost:
        taken.append(f"{way}{mode}")
        if way == Way.STREAMER and taken.count(way) == 2:
            raise PlatformError("out of memory")
        return Cost(1.0, [1.0], 1.0)

    monkeypatch.setattr(Place, "run", lambda _place, way, _landing: turn(way))
    monkeypatch.setattr(Place, "commit", lambda _place, way, _objects: turn(way, " on"))
    monkeypatch.setattr(Place, "are_alike", lambda _self, _ways: alike.pop())
    monkeypatch.setattr(jars, "fetch", lambda _names=(): None)
    monkeypatch.setattr(hoodie_streamer, "install", lambda _home: taken.append("installed"))
    return taken


def run(ways: Sequence[str], *given: str) -> Result:
    chosen = chain.from_iterable(("--way", one) for one in ways)
    sizes = ["--case", "copy-on-write", "--events", "10", "--changes", "5", "--rounds", "2", "--counted", "0"]
    return CliRunner().invoke(app, ["dev", "bench", "job", *sizes, *given, *chosen])


def test_each_has_the_first_turn_and_a_difference_fails(turns: list[str]) -> None:
    assert run(["plain", "streamer-own", "job"], "--commits", "1").exit_code == 1
    first_round = ["job", "plain", "streamer-own"] * 2 + ["job on", "streamer-own on"]
    second = ["plain", "streamer-own", "job"] * 2 + ["streamer-own on", "job on"]
    assert turns == ["installed", *first_round, *second]
    turns.clear()
    run(["job", "plain"], "--commits", "0")
    assert turns == ["job", "plain", "job", "plain", "plain", "job", "plain", "job"]


def test_one_that_fails_is_left_out_and_said_so(turns: list[str]) -> None:
    shown = run(["job", "streamer"], "--commits", "0").output
    assert turns == ["installed", "job", "streamer", "job", "streamer", "job", "job"]
    assert f"left out: {TITLES[Way.STREAMER]}: 5 changes on top: out of memory\n" in shown
