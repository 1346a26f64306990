"""All benchmarks in one run: what is recorded, what the page says of it, and a real run of tiny sizes."""

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bench import results
from bench.outbox import command as outbox
from bench.performance import command, costs
from bench.performance.page import BENCHES, render
from cli.__main__ import app
from contract.errors import CANNOT
from local.setup import jars
from operate.costs.bill import requests_of_rounds
from operate.costs.prices import load_prices
from settings.load import load

ROOT = Path(__file__).resolve().parents[2]
WORDS = 1000
FOUND: dict[str, Any] = json.loads((ROOT / "docs" / "performance.json").read_text())
MACHINE = FOUND["machine"]


def ran(bench: str, **other: Any) -> dict[str, Any]:
    """What is recorded of a benchmark, of a certain day."""
    return {**FOUND["benches"][bench], "date": "2026-11-27", "commit": "0a1b2c3d", "busy_percent": 3, **other}


def test_a_table_is_printed_and_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv(results.RECORD, str(tmp_path / "record"))
    results.show("one", "a title", ("what", "s"), [["x", [3.000004, 1.0, 2.0]], ["y", None]])
    results.show("two", "other", ("n",), [[12_345]])
    shown = [[cell.strip() for cell in line.split("│")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert [row for row in shown if row] == [["x", "2.00 (1.00-3.00)"], ["y", ""], ["12,345"]]
    first, second = (json.loads(line) for line in (tmp_path / "record").read_text().splitlines())
    assert first["rows"] == [["x", [3.0, 1.0, 2.0]], ["y", None]]
    assert (second["name"], second["heads"]) == ("two", ["n"])


def test_the_page_is_what_its_figures_say() -> None:
    page = render(FOUND)
    assert (ROOT / "docs" / "performance.md").read_text() == page
    assert len(page.split()) <= WORDS


@pytest.mark.parametrize(("cpu", "said"), [("A", "The first limit is the "), ("B", "first limit isn't known")])
def test_parts_of_one_machine_are_compared(cpu: str, said: str) -> None:
    benches = {name: ran(name, machine={**MACHINE, "cpu": "A"}) for name in FOUND["benches"]}
    benches["outbox"]["machine"] = {**MACHINE, "cpu": cpu}
    assert said in render({"machine": MACHINE, "benches": benches})


def test_what_failed_or_never_ran_is_said_in_its_place() -> None:
    failed = ran("tables", status=3, said="lake: no port is free", tables={})
    other = {**MACHINE, "cpu": "Another"}
    missed = ran("freshness", status=1, said="p95 21.0 s (goal 20): missed", busy_percent=40, machine=other)
    heads, row = FOUND["benches"]["copy-on-write"]["tables"]["copy-on-write"]["heads"], ["failed", "job", "exit 1"]
    case = ran("copy-on-write", tables={"copy-on-write": {"heads": heads, "rows": [[*row, *[None] * 5]]}})
    page = render({"machine": MACHINE, "benches": {"tables": failed, "freshness": missed, "copy-on-write": case}})
    assert "|copy-on-write|job|exit 1||" in page
    assert page.count("No figures: `./lake dev bench tables` ended with 3 on 2026-11-27: lake: no port is free") == 2
    said = "; cores 40 % busy before; ended with 1: p95 21.0 s (goal 20): missed"
    assert f"0a1b2c3d; on Another, 2 cores, {MACHINE['memory_gb']} GB, Linux {MACHINE['kernel']}{said}" in page
    assert "Not measured: `./lake dev bench reconcile`." in page
    assert "Not computed" in page


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What `all` has run; nothing runs, and reconcile fails."""
    taken: list[str] = []

    def run(words: str) -> dict[str, Any]:
        taken.append(words)
        name = next(name for name, bench in BENCHES.items() if words in (bench.words, bench.short))
        return ran(name, status=3 if name == "reconcile" else 0, commit="new")

    monkeypatch.setattr(command, "run", run)
    monkeypatch.setattr(jars, "fetch", lambda _names=(): None)
    return taken


def bench_all(*options: str) -> Any:
    return CliRunner().invoke(app, ["dev", "bench", "all", *options])


def test_one_failure_ends_no_other_benchmark(commands: list[str], tmp_path: Path) -> None:
    assert bench_all("--folder", str(tmp_path)).exit_code == 1
    assert commands == [bench.words for bench in BENCHES.values()]
    assert bench_all("--short", "--folder", str(tmp_path / "short")).exit_code == 0
    assert commands[len(BENCHES) :] == [bench.short for bench in BENCHES.values() if bench.short]
    assert json.loads((tmp_path / "performance.json").read_text())["benches"].keys() == BENCHES.keys()


def test_only_some_are_repeated_and_the_others_kept(commands: list[str], tmp_path: Path) -> None:
    earlier = {"machine": MACHINE, "benches": {"outbox": ran("outbox"), "costs": ran("costs")}}
    file = tmp_path / "performance.json"
    file.write_text(json.dumps(earlier))
    assert bench_all("--only", "costs", "--folder", str(tmp_path)).exit_code == 0
    found, machine = json.loads(file.read_text())["benches"], json.loads(file.read_text())["machine"]
    assert machine == MACHINE, "the page's machine is that of its first figures"
    assert {name: bench["commit"] for name, bench in found.items()} == {"outbox": "0a1b2c3d", "costs": "new"}
    assert commands == ["costs"]


def test_a_months_bill_has_what_each_way_needs_and_what_changes_add() -> None:
    bill = [("processing", "EMR", 100), ("connectors", "units, source", 30), ("connectors", "units, sink", 50)]
    of_nothing = [("lake", "S3 requests, thousands", 14), ("network", "free", None)]
    items = [{"part": part, "what": what, "usd": usd} for part, what, usd in [*bill, *of_nothing]]
    prices = load_prices()
    month = costs.Month(load("prod"), prices, items, event_bytes=1000)
    # Without changes its claim is left.
    assert month.ours(1e-9) == pytest.approx(180 + 730 * 360 / 1000 * prices.of("s3.requests").usd, abs=0.01)
    # A commit in each round of 5 s, and what the landing zone keeps for 90 days.
    kept = 1000 * 90 * 24 * 3600 / 1e9 * prices.of("s3.storage").usd
    assert month.ours(1) == pytest.approx(180 + requests_of_rounds(prices, 5)[0] + kept)
    others = {"without": ["processing", "sink"], "usd_per_gb": 0.07, "units": 2}
    units = 2 * prices.of("connect.mcu").usd * prices.hours_per_month
    assert month.other(others, 1) == pytest.approx(30 + units + 0.07 * 1000 * 730 * 3600 / 1e9)
    # Three copies of a week's events: 1.8 TB at 1,000 a second, of which the brokers' volumes have room for a part.
    room = month.environment.streaming.brokers * month.environment.streaming.volume_gb
    beyond = (3 * 1000 * 1000 * 168 * 3600 / 1e9 - room) * prices.of("msk.storage").usd
    assert month.other({"without": []}, 1000) == pytest.approx(180 + beyond)


@pytest.mark.parametrize("words", ["all --only cost", "job --case cost", "requests --layout cost"])
def test_a_wrong_name_is_one_line(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "fetch", lambda _names=(): None)
    run = CliRunner().invoke(app, ["dev", "bench", *words.split()])
    assert (run.exit_code, len(run.output.splitlines())) == (CANNOT, 1)
    assert f"{words.split()[1]} cost: no such name; there are " in run.output


def short_run(folder: Path, *benches: str) -> dict[str, Any]:
    """The figures of a real run of tiny sizes. The rest needs platforms, HoodieStreamer's jars or minutes."""
    only = [word for bench in benches for word in ("--only", bench)]
    run = [sys.executable, "-m", "cli", "dev", "bench", "all", "--short", *only, "--folder", str(folder)]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads((folder / "performance.json").read_text())["benches"]
    assert [*found] == [*benches]
    assert "Not measured: `./lake dev bench reconcile`." in (folder / "performance.md").read_text()
    return found


@pytest.mark.integration
def test_the_outbox_and_the_costs_run(tmp_path: Path) -> None:
    found = short_run(tmp_path, "outbox", "costs")
    sales = found["outbox"]["tables"]["outbox"]["rows"]
    assert {tuple(row[:2]) for row in sales} == {*itertools.product(outbox.WORKLOADS.values(), outbox.VARIANTS)}
    assert all(per_second > 0 and cpu > 0 for _, _, [per_second], _, [cpu], _ in sales)
    ours, iceberg, *_ = found["costs"]["tables"]["costs"]["rows"]
    assert 500 < ours[1] < ours[2] < ours[3]
    assert 500 < iceberg[1] < iceberg[3]


@pytest.mark.integration
@pytest.mark.long
def test_the_job_and_a_plain_script_run(tmp_path: Path) -> None:
    programs = short_run(tmp_path, "merge-on-read")["merge-on-read"]["tables"]["merge-on-read"]["rows"]
    assert [row[:2] for row in programs] == [
        [step, program] for step in ("30 events", "10 changes on top") for program in ("job", "plain script")
    ]
    assert all(cpu > 0 and wall > 0 and megabytes > 100 for _, _, [cpu], [wall], _, megabytes, *_ in programs)
