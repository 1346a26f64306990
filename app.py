"""The CDK app: one environment's stacks, wired. `cdk synth -c env=dev` or `./lake aws synth -e dev`."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import stacks.node  # noqa: F401  before aws_cdk, which starts Node.js
from contract.errors import UserError, one_line_errors

# isort: split
from aws_cdk import App, Stack, Tags

from settings.environment import Environment
from settings.load import load
from stacks.analytics.stack import AnalyticsStack
from stacks.connectors.eks_cluster import KubernetesStack
from stacks.connectors.stack import ConnectorsStack
from stacks.database import DatabaseStack
from stacks.guard import GuardStack
from stacks.lake import LakeStack
from stacks.monitoring.stack import MonitoringStack
from stacks.network import NetworkStack
from stacks.paused import Paused
from stacks.processing.stack import ProcessingStack
from stacks.streaming import StreamingStack
from stacks.vpn import VpnStack

ROOT = Path(__file__).resolve().parent


def build(
    environment: Environment,
    *,
    outdir: Path | None = None,
    validate: bool = True,
    paused: Paused = Paused.NOTHING,
    resumes: bool = False,
) -> App:
    """Return the app with one environment's stacks; synthesized into `outdir`, or where CDK's command line says.

    `validate`: with CDK's own check of the templates, which takes longer than everything else (docs/decisions/0056).
    `paused`: without what a pause leaves out (docs/decisions/0067); `resumes`: it may end one.
    """
    app = App(
        outdir=str(outdir) if outdir else None,
        context=_context(environment),
        analytics_reporting=False,
        builtin_cloud_formation_validation=validate,
    )
    guard = GuardStack(app, environment, paused, resumes=resumes)
    _stacks(app, environment, paused)
    for stack in app.node.children:
        if isinstance(stack, Stack) and stack is not guard:
            stack.add_stack_dependency(guard)
    for key, value in environment.tags.items():
        Tags.of(app).add(key, value)
    return app


def _stacks(app: App, environment: Environment, paused: Paused) -> None:
    network = NetworkStack(app, environment)
    VpnStack(app, environment, network)
    database = DatabaseStack(app, environment, network)
    streaming = StreamingStack(app, environment, network)
    lake = LakeStack(app, environment)
    kubernetes = KubernetesStack(app, environment, environment.eks, network, paused) if environment.eks else None
    connectors = ConnectorsStack(
        app,
        environment,
        network,
        database=database,
        streaming=streaming,
        lake=lake,
        kubernetes=kubernetes,
        paused=paused,
    )
    processing = ProcessingStack(app, environment, network, database=database, lake=lake, paused=paused)
    if any(pipeline.loads_directly for pipeline in environment.streamed):
        # What the job doesn't see of a table, the connector must already send (docs/decisions/0024).
        processing.add_stack_dependency(connectors)
    AnalyticsStack(app, environment, lake)
    MonitoringStack(
        app, environment, streaming=streaming, connectors=connectors, lake=lake, processing=processing, paused=paused
    )


def _context(environment: Environment) -> dict[str, object]:
    """What cdk.json says, which only CDK's command line reads, and the zones, so that nobody asks AWS for them."""
    context: dict[str, object] = json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["context"]
    key = f"availability-zones:account={environment.account}:region={environment.region}"
    return context | {key: list(environment.availability_zones)}


def _paused(context: Mapping[str, object]) -> Paused:
    chosen = context.get("paused", Paused.NOTHING)
    try:
        return Paused(str(chosen))
    except ValueError:
        raise UserError(f"-c paused={chosen}: it is one of {', '.join(Paused)}") from None


def main() -> None:
    """Synthesize, for CDK's command line, the environment of `-c env=…`, dev without it; `-c paused=…` as a pause
    leaves it."""
    context = json.loads(os.environ.get("CDK_CONTEXT_JSON", "{}"))
    with one_line_errors("synth"):
        build(load(str(context.get("env", "dev"))), paused=_paused(context)).synth()


if __name__ == "__main__":
    main()
