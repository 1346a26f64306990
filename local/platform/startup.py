"""Runs the steps of a start in parallel, each as soon as the steps that it needs are done; and the order of a stop."""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Self

from local.errors import CancelledError, RefusedError
from local.platform.connectors import SINK_GRACE_S
from local.platform.job import GRACE_S as JOB_GRACE_S
from local.platform.pipeline import LocalPipeline
from local.platform.services import GLUE_DATABASE, LAKE_BUCKET, LANDING_BUCKET, Services
from local.platform.source import make_ready
from local.services.postgres import Postgres
from local.services.processes import Processes, Service

WAIT_S = 0.2
MAXIMUM_STEPS = 16
SUPERVISOR = "supervisor"
# Seconds that each service has to end, in stopping order: first the supervisor, which restarts the others, then
# downstream before upstream, so that the last results of a service are still taken.
GRACE_S = {
    SUPERVISOR: 5,
    "job": JOB_GRACE_S,
    "sink": SINK_GRACE_S,
    "connect": 30,
    "kafka": 30,
    "s3": 10,
    "moto": 10,
    "postgres": 60,
}
STOP_ORDER = tuple(GRACE_S)


class StepState(StrEnum):
    """State of a step of the start."""

    STARTED = "started"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class Step:
    """A step's progress: its name, its state, a note such as a count, and its seconds so far.

    One that has started may be told again, with another note.
    """

    name: str
    state: StepState
    note: str = ""
    seconds: float = 0.0


# Called from several threads, one at a time.
Progress = Callable[[Step], None]
# A step's work returns a note for the user, or None.
Work = Callable[[], str | None]


def silent(_step: Step) -> None:
    """Show nothing."""


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore the signals that would end us during a cleanup: a second Ctrl-C would leave processes behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ends = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ends}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Startup:
    """Steps that run in threads.

    The first failure, or the user's interrupt, sets `cancelled`, and the other steps give up: `end` ends what they may
    still wait for. When a step that runs `alone` fails, only the steps that need it don't start.
    """

    def __init__(self, cancelled: threading.Event, progress: Progress, end: Callable[[], None] = lambda: None) -> None:
        self._cancelled = cancelled
        self._progress = progress
        self._end = end
        self._speaking = threading.Lock()
        self._pool = ThreadPoolExecutor(MAXIMUM_STEPS, thread_name_prefix="start")
        self._steps: list[Future[None]] = []

    @contextlib.contextmanager
    def finished(self) -> Iterator[Self]:
        """Wait at the end of the block for all steps that it has begun; raise the first one's failure."""
        try:
            yield self
            # In slices, so that an interrupt is seen at once where a long wait on a lock would delay it.
            while wait(self._steps, timeout=WAIT_S).not_done and not self._cancelled.is_set():
                pass
        except BaseException:
            self._cancelled.set()
            raise
        finally:
            with uninterrupted():
                if self._cancelled.is_set():
                    self._end()
                self._pool.shutdown(wait=True)
        errors = [error for step in self._steps if (error := step.exception()) is not None]
        for error in sorted(errors, key=lambda error: isinstance(error, CancelledError)):
            raise error

    def run(self, name: str, work: Work, *, after: Iterable[Future[None]] = (), alone: bool = False) -> Future[None]:
        """Run a step once those in `after` are done."""
        step = self._pool.submit(self._run, name, work, list(after), alone=alone)
        self._steps.append(step)
        return step

    def noted(self, name: str) -> Callable[[str], None]:
        """Return what tells how far a running step is."""
        return lambda note: self._say(Step(name=name, state=StepState.STARTED, note=note))

    def _run(self, name: str, work: Work, after: list[Future[None]], *, alone: bool) -> None:
        for step in after:
            with contextlib.suppress(Exception):
                step.result()  # its own failure is reported once, by the step itself
            if step.exception() is not None or self._cancelled.is_set():
                raise CancelledError(f"{name} not started")
        started = time.monotonic()
        self._say(Step(name=name, state=StepState.STARTED))
        try:
            note = work()
        except BaseException as error:
            if self._cancelled.is_set():
                raise CancelledError(f"{name} given up") from error
            if not alone:
                self._cancelled.set()
            self._say(Step(name=name, state=StepState.FAILED, seconds=time.monotonic() - started))
            raise
        self._say(Step(name=name, state=StepState.DONE, note=note or "", seconds=time.monotonic() - started))

    def _say(self, step: Step) -> None:
        with self._speaking:
            self._progress(step)


def _run_postgres(postgres: Postgres, processes: Processes) -> str | None:
    """Start the server; set the superuser's password where that was lost or is another one."""
    try:
        processes.run(postgres)
    except RefusedError:
        processes.stop(postgres.name, grace_s=GRACE_S[postgres.name])
        postgres.set_password()
        processes.run(postgres)
        return "the superuser has a new password"
    return None


def run_steps(startup: Startup, services: Services, pipeline: LocalPipeline, processes: Processes) -> None:
    """Start everything, in parallel where one step doesn't need another.

    Failures of data steps stay isolated: services and job keep running.
    """

    def run(service: Service, *, after: Iterable[Future[None]] = ()) -> Future[None]:
        return startup.run(service.name, partial(processes.run, service), after=after)

    postgres = services.postgres
    embedded = services.options.outside is None
    needed = [startup.run(postgres.name, partial(_run_postgres, postgres, processes))] if embedded else []
    name = "load" if needed else "database"
    database = startup.run(name, partial(make_ready, services), after=needed, alone=True)
    storage = startup.run(
        "buckets", partial(services.s3.create_buckets, [LANDING_BUCKET, LAKE_BUCKET]), after=[run(services.s3)]
    )
    catalogue = startup.run(
        "catalogue", partial(services.aws.create_database, GLUE_DATABASE), after=[run(services.aws)]
    )
    before_job, before_lake = [storage, catalogue], []
    if services.pipeline.is_queried:
        before_job.append(database)
    else:
        connectors = pipeline.connectors
        rights = startup.run("rights", connectors.grant_rights, after=[run(services.kafka)])
        topics = startup.run("topics", connectors.create_topics, after=[rights])
        connect = run(services.connect, after=[topics])
        direct = any(table.first_load == "direct" for table in services.pipeline.tables)
        # What is landed says whether changes were lost.
        before_source = [database, topics, connect, storage]
        snapshot = startup.run("source", pipeline.start_source, after=before_source, alone=True)
        # What the job doesn't see of a table, the connector must already send.
        before_job += [snapshot] if direct else []
        sink = startup.run("sink", connectors.start_sink, after=[topics, storage, connect])
        before_lake.append(startup.run("landing", pipeline.wait_landed, after=[snapshot, sink], alone=True))
    if services.options.job:
        before_lake.append(startup.run("job", pipeline.start_job, after=before_job))
        startup.run("lake", partial(pipeline.wait_lake, startup.noted("lake")), after=before_lake, alone=True)
