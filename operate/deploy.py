"""Deploys an environment: exactly what was reviewed, and only if it can be verified."""

import os
import subprocess
from pathlib import Path

import boto3

from contract.errors import CANNOT, NO
from operate import source_cluster, stack_states
from operate.adopt import write_mappings
from operate.errors import OperateError
from operate.outputs import QUICK, check_account, one_line
from operate.pausing.deployed import check_runs
from operate.review.findings import find
from operate.synth import CDK_OUT, synthesize
from plugins.releases.versions import load_versions
from settings.environment import Environment
from stacks.base import keeps
from stacks.node import NODE

ROOT = Path(__file__).resolve().parents[1]
CDK = ROOT / "node_modules" / "aws-cdk" / "bin" / "cdk"


def bootstrap(environment: Environment) -> int:
    """Create CDK's own bucket and roles in the environment's account and region. Returns an exit status."""
    check_account(environment)
    return cdk("bootstrap", f"aws://{environment.account}/{environment.region}")


def deploy(environment: Environment, *, resumes: bool = False) -> int:
    """Review the environment and deploy what was reviewed; CDK asks before it widens rights.

    `resumes`: end a pause; without it, a paused environment is refused. Returns an exit status: NO when all is deployed
    but the lake misses changes until `./lake resnapshot` has run.
    """
    if unpinned := load_versions().unpinned:
        raise OperateError(
            f"plugins/releases/versions.toml has no SHA-256 for {', '.join(unpinned)}: run `./lake dev lock plugins`, "
            "look at what it has written and commit it; what can't be verified isn't deployed"
        )
    session = check_account(environment)
    if not resumes:
        _check_not_paused(environment, session)
    synthesis = synthesize(environment, CDK_OUT / environment.name, nag=True)
    errors = [finding for finding in find(environment, synthesis) if finding.level == "error"]
    if errors:
        raise OperateError("\n".join(["the review says no", *map(str, errors)]))
    with one_line(environment):
        client = session.client("cloudformation", config=QUICK)
        for name in stack_states.clear_failed_creations(client, synthesis.templates):
            print(f"{name}: its first creation failed, so it is empty; it is created again", flush=True)
        stack = f"{environment.prefix}-database"
        if restored := source_cluster.check_origin(client, stack, synthesis.templates[stack]):
            print(restored, flush=True)
    status = cdk("deploy", "--all", "--app", str(synthesis.folder), "--require-approval", "broadening")
    return status or _missed(environment, session)


def _check_not_paused(environment: Environment, session: boto3.Session) -> None:
    with one_line(environment):
        check_runs(session.client("cloudformation", config=QUICK), environment)


def _missed(environment: Environment, session: boto3.Session) -> int:
    """Report changes that no connector has read: neither slot, offsets nor alarms show them."""
    with one_line(environment):
        since = source_cluster.missed_since(session.client("rds", config=QUICK), environment)
    if since is None:
        return 0
    print(
        f"deployed, but the lake misses what changed in the source while no slot kept it ({since}): connect the VPN and"
        f" run `./lake resnapshot -e {environment.name}`",
        flush=True,
    )
    return NO


def destroy(environment: Environment) -> int:
    """Delete the environment's stacks, the last one first; CDK asks before it begins. Returns an exit status.

    The network stays if the database and the brokers do, because they are in it.
    """
    session = check_account(environment)
    # A stopped database can neither be deleted nor drop its slot.
    _check_not_paused(environment, session)
    synthesis = synthesize(environment, CDK_OUT / environment.name)
    names = sorted(synthesis.templates)
    if keeps(environment):
        names.remove(f"{environment.prefix}-network")
    with one_line(environment):
        stack_states.check_unprotected(session.client("cloudformation", config=QUICK), names)
    return cdk("destroy", *names, "--app", str(synthesis.folder))


def adopt(environment: Environment) -> int:
    """Import what deleted stacks kept into new stacks of the same names, one by one; return an exit status."""
    session = check_account(environment)
    synthesis = synthesize(environment, CDK_OUT / environment.name)
    with one_line(environment):
        client = session.client("cloudformation", config=QUICK)
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
    """Run CDK's command line; return 0, or CANNOT if it fails. Raises OperateError if it isn't installed."""
    if not CDK.is_file():
        raise OperateError("CDK's command line isn't installed: `./lake aws deploy` and its like install it")
    # CDK starts child processes by the name node.
    path = os.pathsep.join([str(NODE.parent), os.environ.get("PATH", "")])
    argv = [str(NODE), str(CDK), command, "--no-notices", *arguments]
    done = subprocess.run(argv, cwd=ROOT, check=False, env=os.environ | {"PATH": path})
    return CANNOT if done.returncode else 0
