"""Synthesis: offline, without credentials, and the same input gives the same bytes, in any checkout folder."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from contract.errors import CANNOT
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth

ROOT = Path(__file__).resolve().parents[2]
CHECKOUT = (
    "analytics",
    "app.py",
    "cdk.json",
    "contract",
    "db",
    "environments",
    "pipelines",
    "plugins",
    "requirements.txt",
    "spark_jobs",
    "settings",
    "stacks",
)
STACKS = ("analytics", "connectors", "database", "lake", "monitoring", "network", "processing", "streaming", "vpn")


def synthesize(checkout: Path, outdir: Path, *, environment: str, seed: int) -> subprocess.CompletedProcess[str]:
    """Run the app as CDK's command line does, without credentials and with an unreachable network."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CDK_"))}
    nowhere = "http://127.0.0.1:9"
    variables = {
        "AWS_EC2_METADATA_DISABLED": "true",
        "CDK_CONTEXT_JSON": json.dumps({"env": environment}),
        "CDK_OUTDIR": str(outdir),
        # CDK's own check changes nothing in the templates, and test_checks.py covers it.
        "CDK_VALIDATION": "false",
        "HTTPS_PROXY": nowhere,
        "HTTP_PROXY": nowhere,
        "PYTHONHASHSEED": str(seed),
    }
    return subprocess.run(
        [sys.executable, "app.py"], cwd=checkout, env=kept | variables, capture_output=True, text=True, check=False
    )


def templates(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.template.json")}


def test_the_same_input_makes_the_same_bytes_at_another_place_and_in_a_review(
    tmp_path: Path, prod: Synthesized
) -> None:
    copy = tmp_path / "elsewhere"
    copy.mkdir()
    for name in CHECKOUT:
        source = ROOT / name
        shutil.copytree(source, copy / name) if source.is_dir() else shutil.copy(source, copy / name)
    (copy / ".cache").symlink_to(ROOT / ".cache")
    done = synthesize(copy, tmp_path / "made", environment="prod", seed=2)
    assert done.returncode == 0, done.stderr
    made = templates(tmp_path / "made")
    assert set(made) == {f"prod-cdc-lake-{stack}.template.json" for stack in STACKS}
    assert made == templates(prod.synthesis.folder)


def test_cdks_command_line_adds_nothing_to_the_templates() -> None:
    """Each of these, on by default, would make `cdk deploy` write different bytes from `./lake aws synth`."""
    settings = json.loads((ROOT / "cdk.json").read_text())
    assert (settings["pathMetadata"], settings["assetMetadata"], settings["versionReporting"]) == (False, False, False)


def test_no_path_of_this_machine_and_no_date_gets_into_a_template(dev: Synthesized, prod: Synthesized) -> None:
    for environment in (dev, prod):
        for path in environment.synthesis.folder.glob("*.template.json"):
            text = path.read_text()
            assert str(ROOT) not in text
            assert str(environment.synthesis.folder) not in text


def test_a_wrong_environment_is_one_line_and_no_traceback(tmp_path: Path) -> None:
    done = synthesize(ROOT, tmp_path, environment="staging", seed=1)
    assert done.returncode == CANNOT
    assert done.stderr == "synth: environments/staging.toml: no such environment; there are dev, prod, sandbox\n"
