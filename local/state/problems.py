"""What is wrong with a platform: each problem's part, reason, remedy and log.

Each function describes one kind of part from what was read of it; local/state/collect.py reads.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from contract.source import SCHEMA
from contract.states import QUARANTINED_MINUTES
from contract.table_names import table_option
from local.console import megabytes
from local.files import LEAST_FREE_BYTES
from local.platform.startup import SUPERVISOR
from local.platform.supervisor import Restarts
from local.problem import ALARMS, Problem, failing
from local.services.source_database import OutboxQueue
from local.state.services import SETS_PASSWORD, ServiceStatus
from local.state.tables import TableStatus


def of_disk(folder: Path, free_bytes: int) -> Iterator[Problem]:
    if free_bytes < LEAST_FREE_BYTES:
        yield Problem(
            part="disk",
            what="is full",
            reason=f"{megabytes(free_bytes)} are free in {folder}",
            remedy="make room, and everything goes on",
        )


def of_secrets(lost: Iterable[Path], salt: Path | None) -> Iterator[Problem]:
    """`lost`: the files of lost passwords; `salt`: that of hashed columns, if it is lost."""
    for path in lost:
        yield Problem(
            part=f"password {path.name}", what="is lost", reason=f"nothing is in {path}", remedy=SETS_PASSWORD
        )
    if salt is not None:
        yield Problem(
            part="the salt of hashed columns",
            what="is lost",
            reason=f"nothing is in {salt}",
            remedy="`./lake up` takes it from the worker's copy, or says what to do",
        )


def of_services(
    services: Sequence[ServiceStatus],
    restarts: Mapping[str, Restarts],
    unproven: Collection[str],
    logs: Path,
    now: float,
) -> Iterator[Problem]:
    """`unproven`: what was restarted and may die again; `logs`: the services' folder; `now` in seconds since 1970."""
    if not any(service.running for service in services):
        yield Problem(
            part="the platform",
            what="doesn't run, though `./lake down` didn't stop it",
            reason="a failed start, a kill or a restart of the machine",
            remedy="`./lake up` goes on from where it was",
        )
        return
    supervised = any(service.name == SUPERVISOR and service.running for service in services)
    for service in services:
        log, entry = logs / f"{service.name}.log", restarts.get(service.name)
        if not service.running:
            again = "the supervisor starts it again" if entry is None else entry.describe(now)
            # Without a supervisor, the record is of an earlier death.
            reason = entry.reason if entry and supervised else ""
            remedy = again if supervised else "`./lake up` starts it again"
            yield Problem(part=service.name, what="is dead", reason=reason, remedy=remedy, log=log)
        elif service.silent:
            remedy = f"wait, or end process {service.pid}"
            yield Problem(part=service.name, what="runs but doesn't answer", remedy=remedy, log=log)
        elif service.refusal:
            yield Problem(part=service.name, what="refuses the login", reason=service.refusal, remedy=SETS_PASSWORD)
        elif entry is not None and service.name in unproven:
            yield Problem(part=service.name, what="has died", reason=entry.reason, remedy=entry.describe(now), log=log)


def of_look(silent: Collection[str], seconds: float) -> Iterator[Problem]:
    """`silent`: services that run, but didn't answer all of a look's questions within `seconds`."""
    if silent:
        reason = f"no answer within {seconds:.0f} s from {', '.join(sorted(silent))}"
        yield Problem(part="a look", what="isn't complete", reason=reason)


def of_connectors(
    failed: Mapping[str, str] | None, restarts: Mapping[str, Restarts], unproven: Collection[str], log: Path, now: float
) -> Iterator[Problem]:
    """`failed`: each failed connector's reason; None where the worker doesn't say."""
    if failed is None:
        yield Problem(part="connect", what="doesn't say how its connectors are", log=log)
    for name, reason in (failed or {}).items():
        remedy = restarts[name].describe(now) if name in restarts else "`./lake up` starts it again"
        yield Problem(part=f"connector {name}", what="has failed", reason=reason, remedy=remedy, log=log)
    for name in sorted({*unproven} - {*(failed or {})}):
        what, entry = "has failed and was restarted", restarts[name]
        yield Problem(part=f"connector {name}", what=what, reason=entry.reason, remedy=entry.describe(now), log=log)


def of_outbox(queue: OutboxQueue | None) -> Iterator[Problem]:
    if queue is not None and queue.failing:
        yield Problem(
            part="outbox",
            what="can't take some changes",
            reason=f"{queue.failing} of {queue.entries} queued ones fail: {queue.error}",
            remedy=f"they are tried again; the table {SCHEMA}.outbox_queue says which",
        )


def of_table(table: TableStatus, log: Path) -> Iterator[Problem]:
    """`log`: the job's."""
    part = f"table {table.name}"
    if table.state is not None and table.state.fails:
        yield failing(table.name, table.state.detail or "", log)
    if table.quarantined is not None and table.quarantined.lately:
        yield Problem(
            part=part,
            what=f"had events quarantined in the last {QUARANTINED_MINUTES} minutes",
            reason=next((line.reason for line in table.quarantined.newest), ""),
            remedy=f"{ALARMS}#quarantined-events says what to do",
        )
    if table.ignored_truncate:
        yield Problem(
            part=part,
            what="was emptied by TRUNCATE, which was ignored",
            remedy=f"the lake keeps the rows until `./lake resnapshot {table_option(table.name)}`",
        )
