"""The comparison of the job with others: what each is told, whose turn it is, and what is shown."""

import json
import subprocess
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from bench import against_others, hoodie_streamer
from bench.against_others import TITLES, WARM, Cost, Place, Way
from bench.order_events import first, later
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


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, tmp_path / "spark")


def replaced(place: Place, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Run a program in place of the job."""
    (place.folder / "job-work").mkdir()
    command = [sys.executable, "-c", program], dict[str, str]()
    monkeypatch.setattr(Place, "_command", lambda *_given, **_more: command)


@pytest.mark.parametrize("own", [False, True])
def test_hoodie_streamer_is_told_the_jobs_table_or_only_what_no_default_knows(own: bool) -> None:
    of_job = against_others._arguments(Path("landing"), Path("table"))
    options = against_others._table(of_job).write_options
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
    submitted = ["spark-submit", "--properties-file", "settings", "--py-files", "archive", "job"]
    monkeypatch.setattr(
        hoodie_streamer, "spark_submit", lambda *_given, **_more: (submitted, {"SPARK_LAUNCHER_OPTS": "-Xshare"})
    )
    argv, environment = hoodie_streamer.command(["--op"], home=tmp_path / "spark", folder=tmp_path, own=own)
    assert argv[0] == str(tmp_path / "spark" / "bin" / "spark-submit")
    assert argv[-4:] == ["--class", "org.apache.hudi.utilities.streamer.HoodieStreamer", "spark-internal", "--op"]
    assert environment["SPARK_HOME"] == str(tmp_path / "spark")
    settings = dict(argv[at + 1].split("=", 1) for at, part in enumerate(argv) if part == "--conf")
    assert (argv[1:3] == submitted[1:3]) is not own
    assert (settings.items() >= (DEFAULTS | FIXED).items()) is not own
    assert ("SPARK_LAUNCHER_OPTS" in environment) is not own
    assert settings.get("spark.master") == ("local[2]" if own else None)
    assert "archive" not in argv


def test_its_classes_get_their_bundles_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    downloaded, calls = tmp_path / "jars", list[list[Any]]()
    downloaded.mkdir()
    for name in ("hudi-utilities_2.12-0.14.0.jar", "jarjar-assembly-1.8.1.jar", "spark-core.jar"):
        (downloaded / name).touch()
    monkeypatch.setattr(hoodie_streamer, "jar_folder", lambda _name: downloaded)
    monkeypatch.setattr(hoodie_streamer, "java_binary", lambda: "java")
    monkeypatch.setattr(subprocess, "run", lambda command, check: calls.append([*command, check]))
    hoodie_streamer.install(tmp_path / "home")
    assert [path.name for path in (tmp_path / "home" / "jars").iterdir()] == ["spark-core.jar"]
    ((_, _, jarjar, _, rules, classes, renamed, check),) = calls
    assert (jarjar.name, classes.parent, renamed.parent, check) == (
        "jarjar-assembly-1.8.1.jar",
        downloaded,
        tmp_path / "home" / "jars",
        True,
    )
    assert rules.read_text().splitlines()[0] == ("rule com.beust.jcommander.** org.apache.hudi.com.beust.jcommander.@1")


def test_the_table_has_dates_times_and_what_marks_deletes() -> None:
    record = json.loads(hoodie_streamer.target_schema(against_others.SCHEMA_FILE.read_text()))
    types = {field["name"]: field["type"] for field in record["fields"]}
    assert types["order_date"] == ["null", {"type": "int", "logicalType": "date"}]
    assert types["updated_at"] == ["null", {"type": "long", "logicalType": "timestamp-micros"}]
    assert types["order_id"] == "int"
    assert types["_hoodie_is_deleted"] == ["null", "boolean"]


def test_small_commits_are_measured_once_the_jvm_is_warm(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    landing, timeline = (str(place.folder / name) for name in ("landing", "job/.hoodie"))
    replaced(place, monkeypatch, TIMELINE_OF_OBJECTS.format(landing=landing, timeline=timeline))
    objects = [list(first(20)), *([line] for line in later(WARM + 3, 20))]
    cost = place.commit(Way.JOB, objects)
    assert len(cost.wall) == 3
    assert all(0 < seconds < 30 for seconds in cost.wall)
    assert cost.cpu >= 0
    names = sorted(path.name for path in (place.folder / "landing" / "job" / "0").iterdir())
    assert names[:2] == ["000000000019_1_2.json", "000000000020_1_2.json"]
    assert len(names) == 1 + WARM + 3


def test_what_fails_is_one_line(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    replaced(place, monkeypatch, "raise SystemExit('no\\n  such table')")
    with pytest.raises(PlatformError, match=r"^job has ended with 1: no such table$"):
        place.run(Way.JOB, place.land("0", list(first(3))))
    with pytest.raises(PlatformError, match=r"^the job has ended before commit 1: no such table$"):
        place.commit(Way.JOB, [["{}"]])
    monkeypatch.setattr(against_others, "TIMEOUT_S", 0.2)
    monkeypatch.setattr(Place, "_command", lambda *_given: (["sleep", "60"], {}))
    with pytest.raises(PlatformError, match=r"^job hasn't ended within 0.2 s$"):
        place.run(Way.JOB, place.land("1", []))


def test_medians_spread_and_the_jobs_share_are_shown() -> None:
    costs = {
        ("1 event", Way.JOB): [Cost(cpu, [wall]) for cpu, wall in ((6.0, 4.0), (8.0, 5.0), (7.0, 3.0))],
        ("1 event", Way.PLAIN): [Cost(10.0, [2.0])],
        ("20 commits", Way.OWN): [Cost(1.25, [0.01 * at for at in range(1, 11)]) for _ in range(2)],
    }
    console = Console(width=100, record=True)
    console.print(against_others.shown(costs))
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in console.export_text().splitlines()]
    assert [row for row in rows if row] == [
        ["1 event", "", "", "", ""],
        [TITLES[Way.JOB], "7.0 (6.0-8.0)", "4.00 (3.00-5.00)", "", "1.00"],
        [TITLES[Way.PLAIN], "10.0 (10.0-10.0)", "2.00 (2.00-2.00)", "", "0.70"],
        ["20 commits", "", "", "", ""],
        [TITLES[Way.OWN], "1.25 (1.25-1.25)", "0.06 (0.01-0.10)", "0.10", ""],
    ]


def test_each_has_the_first_turn_and_a_difference_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    turns, installed, alike = list[str](), list[str](), [True, True, False, True]

    def turn(way: Way, mode: str = "") -> Cost:
        turns.append(f"{way}{mode}")
        return Cost(1.0, [1.0])

    monkeypatch.setattr(Place, "run", lambda _self, way, _landing: turn(way))
    monkeypatch.setattr(Place, "commit", lambda _self, way, _objects: turn(way, " on"))
    monkeypatch.setattr(Place, "are_alike", lambda _self, _ways: alike.pop())
    monkeypatch.setattr(jars, "fetch", lambda names=(): installed.extend(names))
    monkeypatch.setattr(hoodie_streamer, "install", lambda _home: installed.append("installed"))

    def run(ways: Sequence[str]) -> int:
        chosen = chain.from_iterable(("--way", one) for one in ways)
        sizes = ["--events", "10", "--changes", "5", "--rounds", "2", "--commits", "1"]
        return CliRunner().invoke(app, ["dev", "bench", "job", *sizes, *chosen]).exit_code

    assert run(["streamer", "plain", "job"]) == 1
    first_round = ["job", "plain", "streamer"] * 2 + ["job on", "streamer on"]
    assert turns == first_round + ["plain", "streamer", "job"] * 2 + ["streamer on", "job on"]
    assert installed == ["hoodie-streamer", "installed"]
    installed.clear()
    alike.extend([True] * 4)
    assert run(["job", "plain"]) == 0
    assert installed == []
