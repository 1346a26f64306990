"""Services and progress of the data, for `./lake status`."""

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil
import psycopg2
from botocore.exceptions import BotoCoreError, ClientError
from confluent_kafka import KafkaException

from contract.lake import LANDING_PREFIX
from contract.source import SCHEMA
from contract.table_names import lake_name, table_option
from db.connecting import LoadError
from local.errors import PlatformError
from local.look.json_lines import count_quarantined
from local.look.lake import Lake, LakeError
from local.look.source_changes import source_changes
from local.platform.job import TableState
from local.platform.platform import Platform
from local.platform.services import DERIVED, LANDING_BUCKET, LocalDerived, LocalTable
from local.platform.startup import STOP_ORDER, SUPERVISOR
from local.platform.supervisor import Restarts, read_restarts
from local.services.source_database import OutboxQueue, Slot, refusal

# Errors of a client whose service is down, or has no data yet.
UNAVAILABLE = (
    psycopg2.Error,
    KafkaException,
    TimeoutError,
    BotoCoreError,
    ClientError,
    LakeError,
    LoadError,
    PlatformError,
)
Value = TypeVar("Value")
CountRows = Callable[[Lake, str], int | None]
ANSWER_S = 5.0
PAUSE_S = 0.1
# Tables checked in parallel.
LOOKERS = 8


@dataclass(frozen=True, kw_only=True)
class ServiceStatus:
    """One service: its first process, its port, the memory of all its processes in bytes, its restarts since `up`.

    `silent`: it runs, but is stopped by a signal or doesn't answer.
    """

    name: str
    running: bool
    silent: bool = False
    pid: int | None = None
    port: int | None = None
    rss_bytes: int | None = None
    restarts: int = 0


@dataclass(frozen=True, kw_only=True)
class TableStatus:
    """A table's progress; None where a service doesn't say.

    `topic_end` and `sink_offset` are offsets: of the next event, and of the one at which the sink resumes. `state`: as
    reported by the job of many tables; a job of one table reports none. `ignored_truncate`: the lake still has rows
    that a TRUNCATE removed.
    """

    name: str
    topic_end: int | None = None
    sink_offset: int | None = None
    lake_rows: int | None = None
    last_commit: str | None = None
    quarantined: int | None = None
    ignored_truncate: bool = False
    state: TableState | None = None


@dataclass(frozen=True, kw_only=True)
class DerivedStatus:
    """Rows, last commit and state of a derived table or a history."""

    name: str
    kind: str = DERIVED
    lake_rows: int | None = None
    last_commit: str | None = None
    state: TableState | None = None


@dataclass(frozen=True, kw_only=True)
class DataStatus:
    """Progress of the data; None where a service doesn't say. `outbox_rows` is also None without an outbox.

    `queried`: the tables are queried, so there are no slot, topics and landing.
    """

    tables: tuple[TableStatus, ...] = ()
    derived: tuple[DerivedStatus, ...] = ()
    outbox_rows: int | None = None
    landing_objects: int | None = None
    outbox_queue: OutboxQueue | None = None
    slot: Slot | None = None
    queried: bool = False


@dataclass(frozen=True, kw_only=True)
class Status:
    """The whole platform; `problems` holds one line per problem."""

    services: list[ServiceStatus]
    data: DataStatus
    problems: list[str]


def count_rows(lake: Lake, column: str) -> int | None:
    """Count a table's rows by one of its columns; None before its first commit. Raises LakeError."""
    return lake.rows([column]).num_rows if lake.exists() else None


def read_status(platform: Platform, tables: Sequence[str] = (), *, count: CountRows = count_rows) -> Status:
    """Read all services, and the data of these `tables` or of all; takes ANSWER_S when a service hangs.

    `count` counts a table's rows by a column, as count_rows does.

    Raises PlatformError when the platform was never up or was stopped by `down`, and for an unknown table.
    """
    chosen = platform.services.chosen(tables)
    ports = platform.services.ports
    found = platform.processes.find()
    running = platform.running()
    expected = platform.expected()
    if not running and not expected:
        raise PlatformError(f"the platform in {platform.state_dir} is down: `./lake up` starts it")
    silent = silent_services(platform, running & expected)
    restarts = read_restarts(platform.restarts_file) if SUPERVISOR in expected else {}
    services = [
        ServiceStatus(
            name=name,
            running=name in running,
            silent=name in silent,
            pid=platform.pid(name),
            port=ports.get(name),
            rss_bytes=_rss(found.get(name, [])),
            restarts=restarts[name].total if name in restarts else 0,
        )
        for name in reversed(STOP_ORDER)
        if name in expected
    ]
    answering = {service.name for service in services if service.running and not service.silent}
    refused = None
    if platform.options.outside is not None and not (refused := refusal(platform.services.database.parameters())):
        answering.add("postgres")
    data = _data(platform, answering, chosen, count)
    problems = [*([refused] if refused else []), *_problems(platform, services, restarts)]
    problems += _pipeline_problems(platform, answering, restarts)
    if {"postgres", "s3"} <= answering:
        problems += _value(lambda: source_changes(platform.services, chosen)) or []
    problems += table_problems((*data.tables, *data.derived), platform.processes.log_file("job"))
    problems += truncate_problems(data.tables)
    return Status(services=services, data=data, problems=problems + queue_problems(data.outbox_queue))


def queue_problems(queue: OutboxQueue | None) -> list[str]:
    if queue is None or not queue.failing:
        return []
    return [
        f"{queue.failing} queued changes of the outbox fail and are tried again: {queue.error}"
        f" (the table {SCHEMA}.outbox_queue says which)"
    ]


def table_problems(tables: Sequence[TableStatus | DerivedStatus], log: Path) -> list[str]:
    """Describe the tables at which the job fails: why, and what to do."""
    failing = ((table.name, table.state) for table in tables if table.state and table.state.fails)
    return [
        f"the job fails at table {name} and tries again{f': {state.reason}' if state.reason else ''} (see {log}); its"
        " changes are kept, and docs/aws/alarms.md#table-failing says what to do"
        for name, state in failing
    ]


def truncate_problems(tables: Sequence[TableStatus]) -> list[str]:
    """Name the lake tables that still have rows removed by a TRUNCATE at the source, and what to do."""
    return [
        f"{table.name} was emptied by TRUNCATE, which its pipeline says to ignore: the lake keeps the rows until"
        f" `./lake resnapshot {table_option(table.name)}`"
        for table in tables
        if table.ignored_truncate
    ]


def require_answers(platform: Platform, *names: str) -> None:
    """Raise PlatformError when one of these services doesn't run, or hangs."""
    platform.require(*names)
    if silent := sorted(silent_services(platform, set(names))):
        logs = ", ".join(str(platform.processes.log_file(name)) for name in silent)
        raise PlatformError(f"{', '.join(silent)} doesn't respond (stopped or hung): see {logs}")


def silent_services(platform: Platform, running: set[str]) -> set[str]:
    """Name the services that hang: stopped by a signal, or without an answer within ANSWER_S."""
    stopped = {name for name in running if is_stopped(platform.pid(name))}
    questions = {name: service.ready for name, service in platform.services.listening.items()}
    asked = questions.keys() & running - stopped
    answered: set[str] = set()
    deadline = time.monotonic() + ANSWER_S

    def ask(name: str) -> None:
        with contextlib.suppress(*UNAVAILABLE):
            while not questions[name]():
                time.sleep(PAUSE_S)
            answered.add(name)

    # Daemons: a query that never ends must not keep the command from exiting.
    threads = [threading.Thread(target=ask, args=[name], daemon=True) for name in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return stopped | asked - answered


def is_stopped(pid: int | None) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return pid is not None and psutil.Process(pid).status() == psutil.STATUS_STOPPED
    return False


def _data(platform: Platform, answering: set[str], chosen: Sequence[LocalTable], count: CountRows) -> DataStatus:
    services, pipeline = platform.services, platform.pipeline

    def ask(service: str, read: Callable[[], Value]) -> Value | None:
        return _value(read) if service in answering else None

    states = pipeline.table_states()
    ends = ask("kafka", pipeline.topic_ends) or {}
    offsets = ask("kafka", pipeline.sink_offsets) or {}

    def look(table: LocalTable) -> TableStatus:
        key = lake_name(table.entry.key[0]) if table.entry.key else table.entry.ordering
        return TableStatus(
            name=table.name,
            topic_end=ends.get(table.topic.name),
            sink_offset=offsets.get(table.topic.name),
            lake_rows=ask("s3", lambda: count(table.lake, key)),
            last_commit=ask("s3", table.lake.last_commit),
            quarantined=ask("s3", lambda: count_quarantined(services.s3.client(), table.lake_name)),
            ignored_truncate=table.entry.ignores_truncate and bool(ask("s3", table.lake.has_ignored_truncate)),
            state=states.get(table.job_name),
        )

    def look_at_derived(table: LocalDerived) -> DerivedStatus:
        return DerivedStatus(
            name=table.name,
            kind=table.kind,
            lake_rows=ask("s3", lambda: count(table.lake, table.key)),
            last_commit=ask("s3", table.lake.last_commit),
            state=states.get(table.job_name),
        )

    outbox = services.pipeline.outbox is not None
    with ThreadPoolExecutor(LOOKERS) as pool:
        return DataStatus(
            tables=tuple(pool.map(look, chosen)),
            derived=tuple(pool.map(look_at_derived, services.derived)) if len(chosen) == len(services.tables) else (),
            outbox_rows=ask("postgres", services.database.outbox_rows) if outbox else None,
            landing_objects=None
            if services.pipeline.is_queried
            else ask("s3", lambda: services.s3.count_objects(LANDING_BUCKET, LANDING_PREFIX)),
            outbox_queue=ask("postgres", services.database.outbox_queue) if outbox else None,
            slot=ask("postgres", pipeline.slot),
            queried=services.pipeline.is_queried,
        )


def _problems(platform: Platform, services: list[ServiceStatus], restarts: Mapping[str, Restarts]) -> list[str]:
    """Describe each service's problem and what to do."""
    if not any(service.running for service in services):
        return [
            f"nothing runs in {platform.state_dir}, though `./lake down` didn't stop it: a failed start, a kill or a"
            " restart of the machine; `./lake up` goes on from where it was"
        ]
    supervised = any(service.name == SUPERVISOR and service.running for service in services)
    problems = []
    for service in services:
        log, entry = platform.processes.log_file(service.name), restarts.get(service.name)
        if not service.running and supervised:
            problems.append(f"{service.name} is dead, {_again(entry)}: see {log}")
        elif not service.running:
            problems.append(f"{service.name} is dead, `./lake up` starts it again: see {log}")
        elif service.silent:
            problems.append(
                f"{service.name} (pid {service.pid}) runs but doesn't answer yet, hangs or is stopped: see {log}"
            )
        elif _keeps_failing(entry):
            reason = f": {entry.reason}" if entry and entry.reason else ""
            problems.append(f"{service.name} keeps dying, {_again(entry)}{reason} (see {log})")
    return problems


def _pipeline_problems(platform: Platform, answering: set[str], restarts: Mapping[str, Restarts]) -> list[str]:
    """Describe problems of the connectors and the slot, as far as those can be queried."""
    problems = [str(denial) for denial in platform.denials()]
    problems += [f"table {name} is set aside: {why}" for name, why in platform.pipeline.tables_aside().items()]
    asked = {"postgres", "kafka", "connect", "s3"}
    if asked <= answering and (lost := _value(platform.pipeline.lost_changes)):
        # The cause comes before its consequences.
        problems.append(lost)
    if "connect" in answering:
        failed = _value(platform.services.connect.api.failures)
        if failed is None:
            problems.append("Connect doesn't say how its connectors are")
        for name, reason in (failed or {}).items():
            again = f" ({_again(restarts[name])})" if name in restarts else ""
            problems.append(f"connector {name} has failed{again}: {reason}")
        problems += [
            f"connector {name} keeps failing, {_again(restarts[name])}: {restarts[name].reason}"
            for name in sorted(restarts.keys() - {*STOP_ORDER, *(failed or {})})
            if _keeps_failing(restarts[name])
        ]
    if "postgres" in answering and _value(platform.pipeline.source_is_read) is False:
        problems.append("nothing reads the source's replication slot")
    return problems


def _keeps_failing(entry: Restarts | None) -> bool:
    """The supervisor handles one restart; more in a row point to a fault."""
    return entry is not None and entry.recent(time.time()) > 1


def _again(entry: Restarts | None) -> str:
    return "the supervisor starts it again" if entry is None else entry.describe(time.time())


def _value(read: Callable[[], Value]) -> Value | None:
    try:
        return read()
    except UNAVAILABLE:
        return None


def _rss(processes: list[psutil.Process]) -> int | None:
    """Add up the resident memory of a service's processes; shared pages count in each."""
    total = 0
    for process in processes:
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total or None
