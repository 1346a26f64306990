"""All benchmarks in one run: what is recorded, what the page says of it, and a real run of tiny sizes."""

import itertools
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bench import against_others, first_load, freshness, query, reconcile, results, s3_requests, tables
from bench.against_others import TITLES
from bench.outbox import command as outbox
from bench.performance import command, costs
from bench.performance.page import BENCHES, CASES, render
from bench.results import Value
from cli.__main__ import app
from contract.errors import CANNOT
from local.setup import jars
from operate.costs.bill import requests_of_rounds
from operate.costs.prices import load_prices
from settings.load import load

ROOT = Path(__file__).resolve().parents[2]
WORDS = 1000
MACHINE = {"cpu": "A processor of some name at 2.00GHz", "cores": 2, "memory_gb": 8, "kernel": "6.1.0-of-a-system"}
SPREAD = [104.25, 101.5, 99.75]
STEPS = ("100,000 events", "1,000 changes on top", "50 commits of 20", "10 commits of 20 on S3")


def _programs() -> list[list[Value]]:
    def seconds(step: int, program: int) -> list[Value]:
        return [[(10.0 - 3 * step) * (1 + program), (10.0 - 3 * step) * (1 + program)], SPREAD, 0.7, 900, [99.5], 1.1]

    titles = [*TITLES.values()]
    return [[what, title, *seconds(at, titles.index(title))] for at, what in enumerate(STEPS) for title in titles]


def table(heads: Sequence[str], *labels: Sequence[Value], times: int = 1) -> dict[str, Any]:
    """A table as large as a full run's."""
    rows = [[*label, *[SPREAD] * (len(heads) - len(label))] for label in labels]
    return {"title": "", "heads": [*heads], "rows": rows * times}


TABLES: dict[str, dict[str, dict[str, Any]]] = {
    **{case: {case: {"title": "", "heads": [*against_others.HEADS], "rows": _programs()}} for case in CASES},
    "first-load": {
        "first-load": table(first_load.HEADS, *((way, 1, 1) for way in (*first_load.WAYS, *first_load.ALONE)))
    },
    "query": {
        "losses": table(query.LOSSES, ["this project's JdbcSource"], times=6),
        "loads": table(query.LOADS, ["HoodieStreamer and its JdbcSource"], times=2),
        "looks": table(query.LOOKS, ["sweep: 1,000 changed"], times=7),
    },
    "freshness": {"freshness": table(freshness.HEADS, ["during 12 loads of 1,000,000 rows"], times=8)},
    **{
        name: {"requests": table(s3_requests.HEADS, ["customer_id/order_id", "1-10"], times=times)}
        for name, times in (("requests", 6), ("growth", 5), ("landed", 1))
    },
    "tables": {
        "tables": table(tables.HEADS, [1], [20], ["each more"]),
        "crowded": table(tables.CROWDED_HEADS, ["loads, a change a second elsewhere"], times=3),
    },
    "reconcile": {"reconcile": table(reconcile.HEADS, [100_000, reconcile.FLOOR], times=6)},
    "outbox": {"outbox": table(outbox.HEADS, ["new order", "ours"], times=12)},
    "costs": {
        "costs": table(costs.HEADS, ["MSK Connect with an Iceberg sink", 1, 2, 3, "none known; a preview"], times=5)
    },
}


def ran(bench: str, **other: Any) -> dict[str, Any]:
    base = {"command": BENCHES[bench].command, "date": "2026-11-27", "commit": "0a1b2c3d", "status": 0, "said": ""}
    return {**base, "busy_percent": 3, "machine": MACHINE, "tables": TABLES[bench], **other}


def test_a_table_is_printed_and_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv(results.RECORD, str(tmp_path / "record"))
    results.show("one", "a title", ("what", "s"), [["x", [3.000004, 1.0, 2.0]], ["y", None]])
    results.show("two", "other", ("n",), [[12_345]])
    shown = [[cell.strip() for cell in line.split("│")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert [row for row in shown if row] == [["x", "2.00 (1.00-3.00)"], ["y", ""], ["12,345"]]
    first, second = (json.loads(line) for line in (tmp_path / "record").read_text().splitlines())
    assert first["rows"] == [["x", [3.0, 1.0, 2.0]], ["y", None]]
    assert (second["name"], second["heads"]) == ("two", ["n"])


def test_the_whole_page_has_all_tables_and_is_short() -> None:
    page = render({"machine": MACHINE, "benches": {bench: ran(bench) for bench in BENCHES}})
    assert "Not measured" not in page
    assert len(page.split()) <= WORDS
    assert all(f"`{bench.command}`, 2026-11-27, 0a1b2c3d" in page for bench in BENCHES.values())
    # 10 s for 100,000 events, 7 for 1,000: 33,000 a second.
    assert "|core of the job|33,000|0.3|3.0|`executors`|" in page
    assert "|copy-on-write|job|10.0±0.0|7.00±0.00|4.00±0.00|102|0.70|900|99.5|" in page
    assert "|each more|102±2|" in page
    assert "|database with the outbox|102|98.5|985.2|" in page
    # HoodieStreamer takes 40 s with its own settings and 30 with ours, the job 10.
    assert "save HoodieStreamer 25 %" in page
    assert "takes 67 % less" in page
    assert "The first limit is the database with the outbox" in page
    elsewhere = ran("outbox", machine={**MACHINE, "cpu": "Another"})
    mixed = render({"machine": MACHINE, "benches": {bench: ran(bench) for bench in BENCHES} | {"outbox": elsewhere}})
    assert "The first limit" not in mixed
    assert "which is the first limit isn't known" in mixed


def test_what_failed_or_never_ran_is_said_in_its_place() -> None:
    failed = ran("tables", status=3, said="lake: no port is free", tables={})
    other = {**MACHINE, "cpu": "Another"}
    missed = ran("freshness", status=1, said="p95 21.0 s (goal 20): missed", busy_percent=40, machine=other)
    page = render({"machine": MACHINE, "benches": {"tables": failed, "freshness": missed}})
    assert page.count("No figures: `./lake dev bench tables` ended with 3 on 2026-11-27: lake: no port is free") == 2
    said = "; cores 40 % busy before; ended with 1: p95 21.0 s (goal 20): missed"
    assert f"0a1b2c3d; on Another, 2 cores, 8 GB, Linux 6.1.0-of-a-system{said}" in page
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


def test_the_page_is_what_its_figures_say() -> None:
    found = json.loads((ROOT / "docs" / "performance.json").read_text())
    assert (ROOT / "docs" / "performance.md").read_text() == render(found)
    assert len(render(found).split()) <= WORDS


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
