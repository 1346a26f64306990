"""Objections to a pause: ringing alarms, databases that are still written to."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import boto3

from contract.errors import UserError
from db.connecting import transaction
from operate.sides import DeployedPipeline, login
from settings.environment import Environment

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

MEGABYTE = 1024 * 1024
UNLIMITED = "-1"
_SLOT = """
SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint, current_setting('max_slot_wal_keep_size', true)
FROM pg_replication_slots WHERE slot_name = %s
"""


def ringing(client: "CloudWatchClient", environment: Environment) -> Iterator[str]:
    """Name the environment's ringing alarms: a pause would silence them until it ends."""
    names = sorted(
        alarm["AlarmName"].removeprefix(f"{environment.prefix}-")
        for page in client.get_paginator("describe_alarms").paginate(
            AlarmNamePrefix=f"{environment.prefix}-", StateValue="ALARM"
        )
        for alarm in page["MetricAlarms"]
    )
    if names:
        yield f"alarms ring, which a pause would silence: {', '.join(names)} (docs/aws/alarms.md)"


def outside(session: boto3.Session, environment: Environment) -> Iterator[str]:
    """Report for each outside database how much WAL its slot keeps, and its limit."""
    for pipeline in environment.streamed:
        if pipeline.database is not None:
            yield (
                f"{pipeline.database.host}, which {pipeline.name} captures, goes on being written, and its slot keeps "
                f"all of that log on its disk until `./lake aws resume`: "
                f"{_kept(DeployedPipeline(environment, pipeline, session))}"
            )


def _kept(deployed: DeployedPipeline) -> str:
    slot = deployed.source.slot_name
    try:
        with login(deployed) as parameters, transaction(parameters, failing="nothing was changed") as cursor:
            cursor.execute(_SLOT, [slot])
            found = cursor.fetchone()
    except UserError as error:
        reason = " ".join(str(error).split())
        return f"how much it keeps now can't be read from here: {reason}; pg_replication_slots there says it"
    # The server has invalidated a slot that holds nothing: what it held is lost.
    if found is None or found[0] is None:
        command = f"./lake resnapshot -e {deployed.environment.name} -p {deployed.pipeline.name}"
        state = f"there is no slot {slot}" if found is None else f"the slot {slot} is lost"
        return f"{state}, so changes are missed already: `{command}` after the pause"
    kept, limit = found
    bound = (
        "without a limit (max_slot_wal_keep_size), so a long pause may fill the disk"
        if limit in (None, UNLIMITED)
        else f"{limit} at the most (max_slot_wal_keep_size): beyond it the slot is lost, and what it held with it"
    )
    return f"now {kept / MEGABYTE:,.0f} MB, {bound}"
