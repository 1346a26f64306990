"""Time of synthesis, compared with importing aws_cdk and synthesizing an empty app.

All run alternately in separate processes, so that a noisy machine affects them alike. CPU seconds include Node.js.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from bench import results
from bench.job import children_cpu_s

ROOT = Path(__file__).resolve().parents[1]
EMPTY = """
import stacks.node
import aws_cdk
app = aws_cdk.App(analytics_reporting=False, builtin_cloud_formation_validation={validate})
aws_cdk.Stack(app, "empty", env=aws_cdk.Environment(account="111111111111", region="ap-southeast-2"))
app.synth()
"""
HEADS = ("command", "s", "s of CPU", "times the empty app")
# What is compared: name → Python's arguments, whether called as by CDK's command line, and the baseline.
# `./lake aws synth` turns off CDK's own check of the templates, which is on by default.
COMMANDS = {
    "empty, unchecked": (["-c", EMPTY.format(validate=False)], True, "empty, unchecked"),
    "./lake aws synth": (["-m", "cli", "aws", "synth", "--env"], False, "empty, unchecked"),
    "empty, checked": (["-c", EMPTY.format(validate=True)], True, "empty, checked"),
    "cdk synth": (["app.py"], True, "empty, checked"),
}


def measure(arguments: Sequence[str], *, by_cdk: bool, environment: str) -> tuple[float, float]:
    """Run Python once; return its wall and CPU seconds. Raises CalledProcessError if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        variables = os.environ | {"PYTHONPATH": str(ROOT)}
        if by_cdk:
            variables |= {"CDK_OUTDIR": folder, "CDK_CONTEXT_JSON": json.dumps({"env": environment})}
        before, started = children_cpu_s(), time.monotonic()
        subprocess.run(
            [sys.executable, *arguments, *(() if by_cdk else (environment,))],
            cwd=ROOT,
            env=variables,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return time.monotonic() - started, children_cpu_s() - before


def main(
    env: Annotated[str, typer.Option("--env", "-e", help="The environment to synthesize.")] = "dev",
    rounds: Annotated[int, typer.Option(min=1, max=20, help="How often each runs.")] = 5,
) -> None:
    """Print each command's seconds and CPU seconds, and the time as a multiple of the empty app's."""
    figures: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    for _ in range(rounds):
        for name, (arguments, by_cdk, _) in COMMANDS.items():
            figures[name].append(measure(arguments, by_cdk=by_cdk, environment=env))
    walls, cpus = ({name: [run[at] for run in runs] for name, runs in figures.items()} for at in (0, 1))
    medians = {name: statistics.median(wall) for name, wall in walls.items()}
    rows = [(name, walls[name], cpus[name], medians[name] / medians[COMMANDS[name][2]]) for name in COMMANDS]
    results.show("synth", f"{env}, {rounds} runs of each", HEADS, rows)
