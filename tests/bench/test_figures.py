"""The benchmarks' job always ends, its commits are counted, and what figures count, compare and parse."""

import json
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from bench import first_load, tables
from bench import job as running_job
from bench import query_trial as trial
from bench.freshness import STAGES, Arrival, Event, committed, journeys, landed, percentiles
from bench.job import RunningJob, by_verb, requests_of, running
from bench.query_trial import Load
from bench.results import bounds
from cli.__main__ import app
from contract.errors import UserError
from local.errors import PlatformError
from local.services.postgres import ConnectionParameters
from local.setup import jars
from tests.conftest import ask, execute
from tests.waiting import gone

NAME = "cdc/demo.datalake.cdc_events/0/000000000011_1_2.json"


def test_an_object_and_a_commit_say_how_far_they_go() -> None:
    assert landed(f"/s3/landing/{NAME}", 5) == Arrival(11, 5)
    assert landed("landing/.indexes/0/x.lock", 5) is None
    progress = json.dumps({"watermarks": {"demo.datalake.cdc_events/0": NAME.removeprefix("cdc/")}})
    commit = json.dumps({"extraMetadata": {"deltastreamer.checkpoint.key": progress}})
    assert committed(commit, 7) == Arrival(11, 7)
    assert committed(json.dumps({"extraMetadata": None}), 7) is None


def test_an_event_is_in_the_first_object_that_reaches_it() -> None:
    events = [Event(offset=offset, source_ms=1000 * offset, topic_ms=1000 * offset + 50) for offset in (2, 0, 1, 3)]
    objects = [Arrival(1, 2000), Arrival(2, 3000), Arrival(3, 4000)]
    found = journeys(events, objects, [Arrival(2, 9000), Arrival(1, 5000)])
    assert [journey.source_ms for journey in found] == [0, 1000, 2000]  # the last has not arrived
    assert [journey.landed_ms for journey in found] == [2000, 2000, 3000]
    assert [journey.committed_ms for journey in found] == [5000, 5000, 9000]
    assert {name: stage(found[2]) for name, stage in STAGES.items()} == {
        "source to topic": 50,
        "topic to object": 950,
        "object to commit": 6000,
        "source to commit": 7000,
    }


def test_percentiles_are_in_seconds() -> None:
    assert percentiles(float(1000 * number) for number in range(1, 101)) == (50.5, 95)
    assert percentiles([2000.0]) == (2, 2)
    with pytest.raises(UserError, match="nothing has arrived"):
        percentiles([])


LINE = "request: Servlet@1{{Context@2{{Tracking@3{{{verb}@4fc17cfa http://127.0.0.1:1{target} HTTP/1.1}}}}}}\n"


def test_requests_are_counted_by_what_they_cost() -> None:
    lines = [
        ("GET", "/lake/t/.hoodie/hoodie.properties"),
        ("GET", "/lake?list-type=2&prefix=t%2F&encoding-type=url"),
        ("HEAD", "/lake/customer_id%3D1/a.parquet"),
        ("PUT", "/lake/t/1.commit"),
        ("POST", "/lake?delete"),
        ("POST", "/lake/t/a.parquet?uploads"),
        ("DELETE", "/lake/t/.hoodie/.temp/1/"),
    ]
    text = "".join(LINE.format(verb=verb, target=target) for verb, target in lines) + "Creating bucket\n"
    found = list(requests_of(text))
    assert [request.target for request in found] == [target for _, target in lines]
    assert by_verb(found) == {"LIST": 1, "PUT": 2, "HEAD": 1, "GET": 1, "DELETE": 2}


def test_a_run_is_cut_into_parts() -> None:
    assert bounds(30, 3) == [(0, 10), (10, 20), (20, 30)]
    assert bounds(4, 3) == [(0, 1), (1, 2), (2, 4)]
    assert bounds(2, 3) == [(0, 1), (1, 2)]


def test_a_first_loads_figures_are_per_row_and_those_of_a_job_alone_have_none_of_the_platform() -> None:
    loads = [
        first_load.Load("direct", 100_000, 10, 20.0, 34.4, 15.25, 1466.4),
        first_load.Load("floor", 100_000, 1, 8.0, 9.0),
        first_load.Load("direct", 100_000, 10, 25.0, 44.4, 17.25, 1400.0),
    ]
    up, equal, per_second, cpu = [15.25, 17.25], [20.0, 25.0], [5000.0, 4000.0], [34.4, 44.4]
    assert first_load.rows_of(loads) == [
        ["direct", 100_000, 10, up, equal, per_second, cpu, pytest.approx([344.0, 444.0]), [1466.4, 1400.0]],
        ["floor", 100_000, 1, None, [8.0], [12_500.0], [9.0], [90.0], None],
    ]


@pytest.mark.parametrize(
    ("said", "whole"),
    [
        ("public.t0  equal  1,000 rows  0.7 s\n  a note\npublic.t1  equal  1,000 rows  0.8 s\n", True),
        ("public.t0  equal  1,000 rows  0.7 s\npublic.t1  differs  1 missing  1,000 rows\n", False),
        ("public.t0  equal  1,100 rows  0.7 s\npublic.t1  equal  900 rows  0.8 s\n", False),
    ],
    ids=["whole", "one differs", "as many in all"],
)
def test_a_first_load_counts_only_where_each_table_has_its_rows(said: str, *, whole: bool) -> None:
    if whole:
        first_load.check(first_load.compared(said), 2001, 2, said)
        return
    with pytest.raises(PlatformError, match=r"^2001 rows in 2 tables were found as \[1"):
        first_load.check(first_load.compared(said), 2001, 2, said)


@pytest.mark.integration
def test_a_first_loads_rows_are_of_ten_columns_and_a_tenth_of_two_is_null(database: ConnectionParameters) -> None:
    execute(database, first_load.MAKING.format(table="t0", rows=143))
    counted = "SELECT count(*) || ' ' || count(name) || ' ' || count(small) || ' ' || count(DISTINCT doc) FROM t0"
    assert ask(database, counted) == "143 130 132 143"
    assert ask(database, "SELECT count(*) FROM information_schema.columns WHERE table_name = 't0'") == 10


# As long as the benchmark's, which has other seeds.
SECONDS, SEED = 60, 5


def test_what_is_missing_stale_and_too_much_is_counted_by_key() -> None:
    found = trial.compare("x", {1: ("a",), 2: ("b",), 3: ("c",)}, {2: ("b",), 3: ("old",), 4: ("d",)}, 7)
    assert (found.missing, found.stale, found.extra, found.is_equal) == (1, 1, 1, False)
    assert trial.compare("x", {1: ("a",)}, {1: ("a",)}, 1).is_equal


@pytest.mark.integration
@pytest.mark.long
def test_our_lake_ends_equal_where_polls_by_the_stamp_lose(tmp_path: Path, database: ConnectionParameters) -> None:
    trial.prepare(database, tmp_path / "password")
    load = Load(database, seconds=SECONDS, seed=SEED)
    with running(trial.job_arguments(database, tmp_path, sweep_seconds=0.5), folder=tmp_path) as job:
        job.wait_for_commits(1)
        found = trial.run(tmp_path, job, load, poll_seconds=0.5)
    *polls, ours = found
    assert (ours.missing, ours.stale, ours.extra) == (0, 0, 0)
    assert all(poll.missing and poll.stale and poll.extra for poll in polls), f"a trial without teeth: {polls}"
    assert load.versions > 100


def started(folder: Path, program: str) -> RunningJob:
    output = folder / "job.out"
    with output.open("wb") as out:
        process = subprocess.Popen([sys.executable, "-u", "-c", program], stdout=out, stderr=subprocess.STDOUT)
    return RunningJob(process, output)


def ended(job: RunningJob) -> None:
    running_job._end(job._process)
    assert job._process.poll() is not None


def test_only_lines_of_commits_count(tmp_path: Path) -> None:
    job = started(
        tmp_path,
        "sum(range(10**7)); print('commit=1 a=2'); print('no commit=2'); print('commit=3');"
        " print('commit=4 half', end='', flush=True); import time; time.sleep(60)",
    )
    job.wait_for_commits(2)
    assert job.reports() == [{"commit": "1", "a": "2"}, {"commit": "3"}]
    assert job.megabytes() > 1
    assert job.cpu_seconds() > 0
    ended(job)


def test_a_worker_that_ends_while_one_counts_uses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job, worker = started(tmp_path, "import time; time.sleep(60)"), subprocess.Popen([sys.executable, "-c", ""])
    gone, there = psutil.Process(worker.pid), psutil.Process(job._process.pid)
    worker.wait()
    monkeypatch.setattr(job, "_processes", lambda: [gone, there])
    assert job.megabytes() > 1
    assert job.cpu_seconds() >= 0
    ended(job)


def test_a_job_that_breaks_or_hangs_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = started(tmp_path, "print('Traceback:\\n  line 1\\nValueError: so much'); raise SystemExit(1)")
    with pytest.raises(PlatformError, match=r"^the job has ended before 1 commits: .*ValueError: so much$"):
        job.wait_for_commits(1)
    with pytest.raises(PlatformError, match=r"^the job has ended: "):
        job.megabytes()
    monkeypatch.setattr(running_job, "TIMEOUT_S", 0.3)
    job = started(tmp_path, "import time; time.sleep(60)")
    with pytest.raises(PlatformError, match=r"^no 1 commits within 0.3 s"):
        job.wait_for_commits(1)
    ended(job)


def test_a_job_that_ignores_the_signal_is_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_job, "END_S", 0.5)
    program = (
        "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        " child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        " print(child.pid); time.sleep(60)"
    )
    job = started(tmp_path, program)
    job.wait(lambda: (tmp_path / "job.out").read_text().endswith("\n"), "child")
    child = psutil.Process(int((tmp_path / "job.out").read_text()))
    began = time.monotonic()
    ended(job)
    assert time.monotonic() - began < 30
    assert gone(child)


@pytest.mark.parametrize(("slow", "status"), [(1, 0), (2, 1)])
def test_changes_that_wait_too_long_during_loads_fail_the_benchmark(
    monkeypatch: pytest.MonkeyPatch, slow: int, status: int
) -> None:
    waits = [1.0] * (21 - slow) + [5.1] * slow
    monkeypatch.setattr(tables, "crowd", lambda *_given: nullcontext((None, None)))
    monkeypatch.setattr(tables, "_at_once", lambda *_given: [2.0, 3.0, 4.0])
    monkeypatch.setattr(tables, "_loaded", lambda *_given, first, **_more: (40.0 if first else 30.0, 16, waits))
    monkeypatch.setattr(jars, "fetch", lambda _names: None)
    result = CliRunner().invoke(app, ["dev", "bench", "crowded", "--events", "1000"])
    assert result.exit_code == status
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.output.splitlines()]
    at_once, alone, during = (row[1:] for row in rows if row)
    assert at_once == ["3.00", "4.00", "4.00", ""]
    assert alone == ["", "", "", "30.0"]
    assert during == ["1.00", f"{waits[19]:.2f}", "5.10", "40.0"]
    assert f"p95 of changes during loads {waits[19]:.1f} s (limit 5): {('met', 'missed')[status]}" in result.output
