"""The demo as a newcomer runs it: what it shows is what the README says, and its summary is true to its words."""

import json
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]
KEYS = {"source_rows", "lake_rows", "missing", "extra", "different", "quarantined", "events", "seconds_total", "steps"}

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, object]]:
    """What a run of the demo prints, and its summary."""
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        [sys.executable, "-m", "local", "demo", "--folder", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=380,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not [process for process in psutil.process_iter(["cmdline"]) if str(folder) in str(process.info["cmdline"])]
    return done.stdout, json.loads((folder / "summary.json").read_text())


def test_lake_and_source_end_equal(output: tuple[str, dict[str, object]]) -> None:
    _, summary = output
    assert set(summary) == KEYS
    assert (summary["missing"], summary["extra"], summary["different"], summary["quarantined"]) == (0, 0, 0, 0)
    assert summary["source_rows"] == summary["lake_rows"] == 829
    steps = summary["steps"]
    assert isinstance(steps, list)
    assert [step["name"] for step in steps][:3] == [
        "initial load",
        "ship order 11077",
        "insert order 11075 with three lines",
    ]
    assert all(step["seconds_to_lake"] > 0 for step in steps)


def test_the_readme_shows_what_the_demo_prints(output: tuple[str, dict[str, object]]) -> None:
    printed, _ = output
    (shown,) = re.findall(r"```\n\$ make demo\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert steps_of(shown) == steps_of(printed)


def steps_of(text: str) -> set[str]:
    """The names of the steps, and the kinds of the indented lines, without what differs from run to run."""
    names = {re.split(r"\s{2,}", line)[0] for line in text.splitlines() if line.startswith("ok ")}
    kinds = {line.split()[0] for line in text.splitlines() if line.startswith("   ")}
    return names | kinds
