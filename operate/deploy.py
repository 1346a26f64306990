"""Deploys an environment: exactly what was reviewed, and only if it can be verified. Destroys it, or adopts the rest.

What survives `./lake aws destroy` has fixed names, so every new deployment would fail on them. CloudFormation remembers
what a deleted stack kept ("DELETE_SKIPPED", for 90 days, by the stack's id), and `cdk import` takes a file that maps
resources. Kept resources need nothing that was deleted (tests/stacks/test_stores.py), so they can be imported alone;
the next `./lake aws deploy` creates the rest.
"""

import atexit
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3

from contract.errors import CANNOT, NO
from operate import account, outputs, source_cluster
from operate.diff import snapshots
from operate.diff.changed import READERS, exports, only_loses
from operate.diff.effects import schema
from operate.errors import OperateError
from operate.outputs import QUICK, check_account, find_stack, one_line
from operate.pausing.deployed import check_runs
from operate.review.findings import find
from operate.synth import CDK_OUT, synthesize
from settings.environment import Environment
from settings.environment_pipeline import FIRST
from settings.rules.placeholders import refused
from stacks.base import keeps
from stacks.gate.data import WITH_SLOT
from stacks.node import NODE

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

ROOT = Path(__file__).resolve().parents[1]
CDK = ROOT / "node_modules" / "aws-cdk" / "bin" / "cdk"
Mapped = dict[str, dict[str, str]]


def bootstrap(environment: Environment) -> int:
    """Create CDK's own bucket and roles in the environment's account and region. Returns an exit status."""
    check_account(environment)
    return cdk("bootstrap", f"aws://{environment.account}/{environment.region}")


def deploy(environment: Environment, *, resumes: bool = False) -> int:
    """Review the environment and deploy what was reviewed; CDK asks before it widens rights.

    `resumes`: end a pause; without it, a paused environment is refused. Returns an exit status: NO when all is deployed
    but the lake misses changes until `./lake resnapshot` has run.
    """
    if reasons := refused(environment):
        raise OperateError("\n".join(reasons))
    _say([account.region_enabled(environment)], refuse=True)
    session = check_account(environment)
    if not resumes:
        check_runs(session, environment)
    account.check_offers(session, environment)
    # A folder of its own: CDK reads each template when its turn comes, and other commands write theirs meanwhile.
    folder = CDK_OUT / f"{environment.name}.deploy.{os.getpid()}"
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    synthesis = synthesize(environment, folder, nag=True, resumes=resumes)
    errors = [finding for finding in find(environment, synthesis) if finding.level == "error"]
    if errors:
        raise OperateError("\n".join(["the review says no", *map(str, errors)]))
    with one_line(environment):
        client = session.client("cloudformation", config=QUICK)
        for name in outputs.delete_failed_creations(client, synthesis.templates):
            print(f"{name}: its first creation failed, so it is empty; it is created again", flush=True)
        first = find_stack(client, f"{environment.prefix}-network") is None
        _say(account.look(session, environment, synthesis.templates), refuse=first)
        stack = f"{environment.prefix}-database"
        if restored := source_cluster.check_origin(client, stack, synthesis.templates[stack]):
            print(restored, flush=True)
        readers = _readers_first(client, environment, synthesis.templates[stack])
    options = ("--app", str(synthesis.folder), "--require-approval", "broadening")
    status = cdk("deploy", *readers, "--exclusively", *options) if readers else 0
    return status or cdk("deploy", "--all", *options) or _missed(environment, session)


def _readers_first(client: "CloudFormationClient", environment: Environment, wanted: Mapping[str, Any]) -> list[str]:
    """Return the stacks to update before the database's if a pipeline leaves that: they import or read what goes.

    Raises OperateError if something comes that they can't use before.
    """
    stack = f"{environment.prefix}-database"
    before = snapshots.template(client, stack) if find_stack(client, stack) else {}
    old, new = (
        {name for name, each in side.get("Resources", {}).items() if each["Type"] in WITH_SLOT}
        for side in (before, wanted)
    )
    if old - new and (new - old or exports(wanted) - exports(before)):
        raise OperateError("a pipeline goes, and what others need comes: deploy without that pipeline first, then all")
    if not (old - new or only_loses(before, wanted)):
        return []
    return [name for role in READERS if find_stack(client, name := f"{environment.prefix}-{role}")]


def _say(found: Iterable[account.Found], *, refuse: bool) -> None:
    """Print what the account has; `refuse`: raise OperateError if it lacks something."""
    lacks = []
    for each in found:
        print(each.line, flush=True)
        lacks += [each.line] if each.lacks else []
    if refuse and lacks:
        raise OperateError("\n".join(["the account isn't ready", *lacks]))


def _missed(environment: Environment, session: boto3.Session) -> int:
    """Report changes that no connector has read: neither slot, offsets nor alarms show them."""
    with one_line(environment):
        missed = source_cluster.missed_since(session, environment)
    for pipeline, since in missed.items():
        which = "" if pipeline == FIRST else f" -p {pipeline}"
        print(
            f"deployed, but the lake misses what changed in the source of {pipeline} while no slot kept it ({since}): "
            f"connect the VPN and run `./lake resnapshot -e {environment.name}{which}`",
            flush=True,
        )
    return NO if missed else 0


def destroy(environment: Environment) -> int:
    """Delete the environment's stacks, the last one first; CDK asks before it begins. Returns an exit status.

    The network stays if the database and the brokers do, because they are in it.
    """
    session = check_account(environment)
    # A stopped database can neither be deleted nor drop its slot.
    check_runs(session, environment)
    synthesis = synthesize(environment, CDK_OUT / environment.name)
    names = sorted(synthesis.templates)
    if keeps(environment):
        # CDK deletes those that depend on a stack with it.
        names = [name for name in names if name not in (f"{environment.prefix}-guard", f"{environment.prefix}-network")]
    with one_line(environment):
        outputs.check_unprotected(session.client("cloudformation", config=QUICK), names)
    return cdk("destroy", *names, "--app", str(synthesis.folder))


def adopt(environment: Environment) -> int:
    """Import what deleted stacks kept into new stacks of the same names, one by one; return an exit status."""
    session = check_account(environment)
    synthesis = synthesize(environment, CDK_OUT / environment.name)
    with one_line(environment):
        client = session.client("cloudformation", config=QUICK)
        outputs.delete_failed_creations(client, synthesis.templates)
        mappings = write_mappings(client, synthesis.templates, synthesis.folder)
    if not mappings:
        raise OperateError(f"nothing to adopt: no deleted stack of {environment.prefix} has kept anything that is free")
    for stack, mapping in mappings.items():
        print(f"{stack}: imports what {mapping.name} says", flush=True)
        if status := cdk("import", stack, "--app", str(synthesis.folder), "--resource-mapping", str(mapping)):
            return status
    print(f"adopted; `./lake aws deploy -e {environment.name}` makes the rest", flush=True)
    return 0


def cdk(command: str, *arguments: str) -> int:
    """Run CDK's command line, which `./lake` installs before; return 0, or CANNOT if it fails."""
    # CDK starts child processes by the name node.
    path = os.pathsep.join([str(NODE.parent), os.environ.get("PATH", "")])
    argv = [str(NODE), str(CDK), command, "--no-notices", *arguments]
    done = subprocess.run(argv, cwd=ROOT, check=False, env=os.environ | {"PATH": path})
    return CANNOT if done.returncode else 0


def write_mappings(
    client: "CloudFormationClient", templates: Mapping[str, Mapping[str, Any]], folder: Path
) -> dict[str, Path]:
    """Write a file of each deleted stack's kept resources for `cdk import --resource-mapping`; return them by stack.

    Skips stacks that have resources, and those that kept none. Raises OperateError if the template no longer has a
    kept resource: its import would be forgotten.
    """
    written = {}
    for stack, template in templates.items():
        there = find_stack(client, stack)
        if there and there["StackStatus"] not in snapshots.EMPTY:
            continue
        if found := _mapping(client, stack, template["Resources"]):
            written[stack] = folder / f"{stack}.kept.json"
            written[stack].write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return written


def _mapping(client: "CloudFormationClient", stack: str, resources: Mapping[str, Any]) -> Mapped:
    found: Mapped = {}
    for logical_id, type_, physical_id in _kept(client, stack):
        if resources.get(logical_id, {}).get("Type") != type_:
            raise OperateError(
                f"{stack} has kept {logical_id} ({type_}, {physical_id}), which its template doesn't have now: check "
                "out the version that was deployed last, or delete that by hand"
            )
        [identifier] = schema(type_)["primaryIdentifier"]
        found[logical_id] = {identifier.removeprefix("/properties/"): physical_id}
    return found


def _kept(client: "CloudFormationClient", stack: str) -> Iterator[tuple[str, str, str]]:
    pages = client.get_paginator("list_stacks").paginate(StackStatusFilter=["DELETE_COMPLETE"])
    deleted = [each for page in pages for each in page["StackSummaries"] if each["StackName"] == stack]
    # An empty stack of a failed attempt may follow the one that kept resources.
    for summary in sorted(deleted, key=lambda each: each["DeletionTime"], reverse=True):
        resources = client.get_paginator("list_stack_resources").paginate(StackName=summary["StackId"])
        kept = [
            (each["LogicalResourceId"], each["ResourceType"], each["PhysicalResourceId"])
            for page in resources
            for each in page["StackResourceSummaries"]
            if each["ResourceStatus"] == "DELETE_SKIPPED"
        ]
        if kept:
            yield from kept
            return
