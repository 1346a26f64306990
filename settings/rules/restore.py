"""Rules for a database's restore."""

import re
from collections.abc import Iterator
from datetime import datetime

from settings.environment import Environment
from settings.rules.problem import Problem, Rule

WHERE = "database.restore"
_IDENTIFIER = r"[A-Za-z](?:-?[A-Za-z0-9])*"
_CLUSTER = re.compile(rf"(?:arn:aws[a-z-]*:rds:[a-z0-9-]+:[0-9]{{12}}:cluster:)?{_IDENTIFIER}")
# Snapshots that RDS creates automatically have a prefix before a colon, such as rds:.
_SNAPSHOT = re.compile(rf"(?:arn:aws[a-z-]*:rds:[a-z0-9-]+:[0-9]{{12}}:cluster-snapshot:)?(?:[a-z]+:)?{_IDENTIFIER}")


def restore(environment: Environment) -> Iterator[Problem]:
    """Require one origin, and a moment only for an origin with several."""
    wanted = environment.database.restore
    if wanted is None:
        return
    if (wanted.snapshot is None) == (wanted.cluster is None):
        yield WHERE, "name what to restore: either `snapshot`, or `cluster` with the `time` it should be as of"
    if wanted.snapshot is not None:
        yield from _snapshot(wanted.snapshot, environment.region)
        if wanted.time is not None:
            yield f"{WHERE}.time", "goes with `cluster`: a snapshot is of one moment"
    if wanted.cluster is not None and not _CLUSTER.fullmatch(wanted.cluster):
        yield f"{WHERE}.cluster", "must be a cluster's identifier, or its ARN"
    if wanted.cluster == environment.database_cluster:
        yield f"{WHERE}.name", f"{wanted.cluster} can't be restored from itself: choose another name"
    if wanted.time is not None and not _is_time(wanted.time):
        yield f"{WHERE}.time", "must be a moment in UTC such as 2026-11-21T10:30:00Z"
    if not any(pipeline.captured.outbox for pipeline in environment.pipelines):
        yield (
            WHERE,
            "the outbox's preparation gives a restored cluster's master its new password, and no pipeline here has the "
            "outbox: add `orders`, or restore by hand and name it by [pipelines.database]",
        )
    if environment.database.sample_data:
        yield "database.sample_data", "a restored database has its own data: set false"


def _snapshot(snapshot: str, region: str) -> Iterator[Problem]:
    if not _SNAPSHOT.fullmatch(snapshot):
        yield f"{WHERE}.snapshot", "must be a cluster snapshot's identifier, or its ARN"
    elif snapshot.startswith("arn:") and snapshot.split(":")[3] != region:
        yield f"{WHERE}.snapshot", f"is of another region: copy it to {region} first"


def _is_time(text: str) -> bool:
    try:
        datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")  # noqa: DTZ007  the Z is matched
    except ValueError:
        return False
    return True


RULES: tuple[Rule, ...] = (restore,)
