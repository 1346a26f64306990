"""CDK's own comparison finds no right and no open port in any dangerous change that ours doesn't mark."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from operate.diff.comparison import ROOT
from operate.diff.snapshots import by_stack
from stacks.node import NODE
from tests.stacks.gate.changed import Changed
from tests.stacks.gate.mutations import rows
from tests.stacks.gate.test_marked import compared, grave

pytestmark = pytest.mark.synth
SCRIPT = Path(__file__).with_name("oracle.cjs")
# CDK counts a function's permission among rights; ours marks the changed values of the permission.
PERMISSIONS = {"trust: function of everyone", "trust: function of a service for anyone"}


def test_cdks_comparison_sees_nothing_that_we_do_not(request: pytest.FixtureRequest) -> None:
    stacks: dict[str, Any] = {}
    marked: dict[str, str] = {}
    for row in rows():
        environment = request.getfixturevalue(row.values[0])
        changed = Changed(environment)
        row.values[1](changed)
        before, after = environment.synthesis.templates, changed.templates
        other = {stack: template for stack, template in after.items() if template != before[stack]}
        marked[row.id] = "\n".join(grave(compared(environment, row.values[1]))).lower()
        both = zip(
            by_stack(environment.settings, {stack: before[stack] for stack in other}).items(),
            by_stack(environment.settings, other).values(),
            strict=True,
        )
        stacks |= {f"{row.id}|{stack}": {"before": old, "after": new} for (stack, old), new in both}
    done = subprocess.run(
        [str(NODE), str(SCRIPT)],
        input=json.dumps(stacks),
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"NODE_PATH": str(ROOT / "node_modules")},
    )
    seen, missing = 0, []
    for key, found in json.loads(done.stdout).items():
        name = key.partition("|")[0]
        actions = [
            a for each in found["statements"]["added"] if each["effect"] == "Allow" for a in each["actions"]["values"]
        ]
        ways = [each for direction in ("ingress", "egress") for each in found[direction]["added"]]
        seen += len(actions) + len(ways)
        missing += [(name, action) for action in actions if action.lower() not in marked[name]]
        missing += [(name, way) for way in ways if " in from " not in marked[name] and " out to " not in marked[name]]
    assert seen > 100
    assert {name for name, _ in missing} == PERMISSIONS, missing
