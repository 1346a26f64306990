"""What runs and how far the data has come: `make status`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import psutil
import psycopg2
from botocore.exceptions import BotoCoreError, ClientError
from confluent_kafka import KafkaException

from local.errors import PlatformError
from local.lake import LakeError
from local.platform import STOP_ORDER, Platform
from local.services import LANDING_BUCKET, LANDING_PREFIX

# What a service that is away, or has no data yet, makes its client raise.
UNAVAILABLE = (
    psycopg2.Error,
    KafkaException,
    TimeoutError,
    BotoCoreError,
    ClientError,
    LakeError,
    PlatformError,
)
Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True)
class ServiceStatus:
    """One service: running or not, its first process, its port, and the memory of all its processes in bytes."""

    name: str
    running: bool
    pid: int | None = None
    port: int | None = None
    rss_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class DataStatus:
    """How far the data has come; None where a service doesn't say."""

    outbox_rows: int | None
    topic_end: int | None
    sink_offset: int | None
    landing_objects: int | None
    lake_rows: int | None
    last_commit: str | None


@dataclass(frozen=True, kw_only=True)
class Status:
    """The whole platform; `problems` holds a line for each thing that is wrong."""

    services: list[ServiceStatus]
    data: DataStatus
    problems: list[str]


def read_status(platform: Platform) -> Status:
    """Look at everything. Raises PlatformError when the platform was never up or is down."""
    ports = platform.services.ports
    found = platform.processes.find()
    running = platform.running()
    if not running:
        raise PlatformError(f"the platform in {platform.state_dir} is down: `make up` starts it")
    expected = platform.expected()
    services = [
        ServiceStatus(
            name=name,
            running=name in running,
            pid=platform.pid(name),
            port=ports.get(name),
            rss_bytes=_rss(platform, name, found.get(name, [])),
        )
        for name in reversed(STOP_ORDER)
        if name in expected
    ]
    return Status(services=services, data=_data(platform), problems=_problems(platform, services))


def _data(platform: Platform) -> DataStatus:
    services, flow = platform.services, platform.flow
    return DataStatus(
        outbox_rows=_value(services.database.outbox_rows),
        topic_end=_value(lambda: services.topic.bounds()[1]),
        sink_offset=_value(flow.sink_offset),
        landing_objects=_value(lambda: services.s3.count_objects(LANDING_BUCKET, LANDING_PREFIX)),
        lake_rows=_value(lambda: services.lake.rows(["order_id"]).num_rows),
        last_commit=_value(services.lake.last_commit),
    )


def _problems(platform: Platform, services: list[ServiceStatus]) -> list[str]:
    logs = platform.processes.logs
    problems = [f"{service.name} is dead: see {logs / service.name}.log" for service in services if not service.running]
    flow = platform.flow
    # Without the stand-in the sink is a connector as well.
    for name in (flow.source_name,) if "sink" in platform.expected() else (flow.source_name, flow.sink_name):
        try:
            if reason := platform.services.connect.api.failure(name):
                problems.append(f"connector {name} has failed: {reason}")
        except PlatformError as error:
            problems.append(str(error))
    if _value(flow.source_is_read) is False:
        problems.append("nothing reads the source's replication slot")
    return problems


def _value(read: Callable[[], Value]) -> Value | None:
    try:
        return read()
    except UNAVAILABLE:
        return None


def _rss(platform: Platform, name: str, processes: list[psutil.Process]) -> int | None:
    """Add up the resident memory of a service's processes, shared pages counted in each."""
    if name == "postgres" and (pid := platform.pid(name)):
        server = psutil.Process(pid)
        processes = [server, *server.children(recursive=True)]
    total = 0
    for process in processes:
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total or None
