"""Deploys an environment: what was reviewed is what is deployed, and nothing that can't be verified."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from operate.review import find
from operate.synth import CDK_OUT, synthesize
from plugins.versions import load_versions
from stacks.environment import Environment
from stacks.node import NODE

ROOT = Path(__file__).resolve().parents[1]
CDK = ROOT / "node_modules" / "aws-cdk" / "bin" / "cdk"


class DeployError(RuntimeError):
    """Nothing was deployed; one line per reason."""


def prepare(environment: Environment) -> Path:
    """Synthesize and check an environment; return the folder to deploy from. Raises DeployError for what must not be."""
    if unpinned := load_versions().unpinned:
        raise DeployError(
            f"plugins/versions.toml has no SHA-256 for {', '.join(unpinned)}: run `make lock-plugins`, look at what it "
            "has written and commit it; what can't be verified isn't deployed"
        )
    synthesis = synthesize(environment, CDK_OUT / environment.name, nag=True)
    errors = [finding for finding in find(environment, synthesis) if finding.level == "error"]
    if errors:
        raise DeployError("\n".join(str(error) for error in errors))
    return synthesis.folder


def run_cdk(folder: Path, command: str, *arguments: str) -> int:
    """Run CDK's command line on synthesized templates; return its exit status."""
    if not CDK.is_file():
        raise DeployError("CDK's command line isn't installed: run `make node_modules`")
    argv: Sequence[str] = [str(NODE), str(CDK), command, "--app", str(folder), "--no-notices", *arguments]
    # CDK starts its own helpers by the name node.
    path = os.pathsep.join([str(NODE.parent), os.environ.get("PATH", "")])
    return subprocess.run(argv, cwd=ROOT, check=False, env=os.environ | {"PATH": path}).returncode
