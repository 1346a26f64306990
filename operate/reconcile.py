"""Compares a deployed pipeline's source with its lake, and repairs differences: `./lake aws reconcile`."""

import contextlib
from collections.abc import Iterator, Sequence
from functools import partial

from rich.console import Console

from db.connecting import UnreachableError
from local.comparison.command import put, reconcile_tables
from local.comparison.repair import repair_of_outbox
from local.comparison.run import Repairs, Sides
from operate import outputs
from operate.errors import OperateError
from operate.kafka import reader
from operate.kafka.cluster import chosen
from operate.resnapshot.tables import TIMEOUT_S, channel_of, refuse_queried, report_of, resnapshot_outbox, wanted_of
from operate.sides import DeployedPipeline, login, sides
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline


def reconcile_environment(
    environment: Environment,
    pipeline: EnvironmentPipeline,
    names: Sequence[str],
    console: Console,
    *,
    repair: bool,
    timeout_s: float,
) -> bool:
    """Compare all tables or those named; tell if they end equal. Raises OperateError, PlatformError, LoadError."""
    entries = chosen(pipeline, names)
    if repair:
        refuse_queried(environment, pipeline)
    if pipeline.is_queried:
        put(console, f"{pipeline.name} is queried: what its job hasn't brought by --timeout counts as different, too")
    deployed = DeployedPipeline(environment, pipeline, outputs.check_account(environment))
    with (
        _in_one_line(environment),
        login(deployed, owner=repair) as source,
        sides(deployed, source, entries) as both,
        _repairs(deployed, both, console) if repair else contextlib.nullcontext() as repairs_of,
    ):
        return reconcile_tables(
            console,
            both,
            timeout_s=timeout_s,
            pipeline=pipeline.name,
            report=report_of(environment, pipeline),
            repairs=repairs_of,
            derived=() if names else pipeline.captured.lake_tables[len(entries) :],
        )


@contextlib.contextmanager
def _in_one_line(environment: Environment) -> Iterator[None]:
    try:
        with outputs.one_line(environment):
            yield
    except UnreachableError as error:
        raise OperateError(f"{error}; from outside its network it takes the VPN (docs/aws/vpn.md)") from None


@contextlib.contextmanager
def _repairs(deployed: DeployedPipeline, both: Sides, console: Console) -> Iterator[Repairs]:
    """Yield the tables' repair: the outbox's rows are written again, others are asked for through the signal table."""
    say, environment, pipeline = partial(put, console), deployed.environment, deployed.pipeline
    if pipeline.captured.outbox is None:
        with reader.connect(deployed.cluster()) as messages:
            yield channel_of(deployed, both.parameters, messages, timeout_s=TIMEOUT_S, say=say).repair
        return

    def resnapshot(where: str) -> None:
        resnapshot_outbox(environment, pipeline, wanted_of(environment, where), lambda _line: None)

    yield lambda wanted: repair_of_outbox(both.parameters, wanted, resnapshot, say)
