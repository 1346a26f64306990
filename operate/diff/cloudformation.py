"""Runs CDK's own template comparison (`@aws-cdk/cloudformation-diff`) in the project's Node.js."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from operate.diff.normal_form import Template, Templates
from operate.errors import OperateError
from stacks.node import NODE

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "node_modules" / "@aws-cdk" / "cloudformation-diff"
SCRIPT = Path(__file__).with_name("cloudformation_diff.cjs")
NOTHING: Template = {"Resources": {}}


def compared(before: Templates, after: Templates) -> Mapping[str, Mapping[str, Any]]:
    """Compare templates stack by stack; return only stacks that differ.

    Each has `impacts` (resource → WILL_REPLACE, MAY_REPLACE, WILL_UPDATE, …) and `statements`, `policies`, `ingress`,
    `egress`, each as `added` and `removed`. Raises OperateError if the package is missing or fails.
    """
    stacks = {
        stack: {"before": before.get(stack, NOTHING), "after": after.get(stack, NOTHING)}
        for stack in sorted({*before, *after})
        if before.get(stack) != after.get(stack)
    }
    if not stacks:
        return {}
    if not PACKAGE.is_dir():
        raise OperateError(
            "CDK's comparison of templates isn't installed: `./lake aws diff` and `./lake aws review` install it"
        )
    done = subprocess.run(
        [str(NODE), str(SCRIPT)],
        input=json.dumps(stacks),
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NODE_PATH": str(ROOT / "node_modules")},
    )
    if done.returncode:
        raise OperateError(f"CDK's comparison of templates failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found
