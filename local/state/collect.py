"""Collects the state of a pipeline: its services, stages, tables and problems."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

from contract.errors import with_options
from contract.lake import LANDING_PREFIX
from contract.table_states import LOADING, STARTING
from local.errors import PlatformError
from local.files import free_bytes
from local.look.json_lines import read_to
from local.platform.command import option
from local.platform.job import TableState
from local.platform.platform import Platform
from local.platform.services import GLUE_DATABASE, LANDING_BUCKET, LocalDerived, LocalTable
from local.platform.startup import SUPERVISOR
from local.platform.supervisor import Restarts, read_restarts
from local.problem import Problem, of_line, set_aside
from local.services.source_database import refusal
from local.state import problems
from local.state.quarantine import Quarantine
from local.state.services import ANSWER_S, SETS_PASSWORD, UNAVAILABLE, ServiceStatus, Value, answer, read_services
from local.state.source_changes import source_changes
from local.state.stages import Stage, Stages, on_wall_clock
from local.state.tables import CAPTURED, QUERIED, DataStatus, RowCounts, TableStatus
from local.state.word import Alive, State, judge
from spark_jobs.options.keys import IGNORED_TRUNCATE, PROGRESS

# Instant and metadata of the job's newest commit, as Lake.newest_of_job returns them.
Newest = Callable[[LocalTable | LocalDerived], tuple[str, Mapping[str, str]]]
# Tables checked in parallel.
LOOKERS = 8
# A service that hangs in the middle of a look counts as not answering; large tables take a while to count.
HANGS_S = 10.0


@dataclass(frozen=True, kw_only=True)
class PipelineState:
    """Everything that is known of a pipeline at one time; causes come before their consequences in `problems`."""

    state: State
    services: tuple[ServiceStatus, ...] = ()
    stages: tuple[Stage, ...] = ()
    data: DataStatus = field(default_factory=DataStatus)
    problems: tuple[Problem, ...] = ()


class Answering(set[str]):
    """The services that answer; one that hangs is asked nothing more in this look."""

    def ask(self, read: Callable[[], Value], *services: str) -> Value | None:
        """Return what these services answer; None if they don't."""
        if not self.issuperset(services):
            return None
        try:
            return answer(read).result(HANGS_S)
        except TimeoutError:
            self.difference_update(services)
            return None
        except UNAVAILABLE:
            return None


class Collector:
    """Reads one platform again and again; what hasn't changed isn't read twice."""

    def __init__(self, platform: Platform, newest: Newest = lambda table: table.lake.newest_of_job()) -> None:
        self._platform = platform
        self._newest = newest
        self._counts = RowCounts()
        self._quarantines: dict[str, Quarantine] = {}
        self._stages = Stages()
        self._accepted: str | None = None

    def look(self, names: Sequence[str] = ()) -> PipelineState:
        """Read the services, and the data of these tables or of all; takes ANSWER_S when a service hangs.

        Raises PlatformError when the platform was never up or was stopped by `down`, UserError for an unknown table.
        """
        platform = self._platform
        chosen = platform.services.chosen(names)
        alive = Alive.of(platform)
        if alive.is_down:
            raise PlatformError(f"the platform in {platform.state_dir} is down: `./lake up` starts it")
        restarts = read_restarts(platform.restarts_file) if SUPERVISOR in alive.expected else {}
        services = read_services(platform, restarts)
        answering = Answering(service.name for service in services if service.usable)
        refused = None
        if platform.options.outside is not None and not (refused := refusal(platform.services.database.parameters())):
            answering.add("postgres")
        usable = {*answering}
        data, now = self._data(answering, chosen), time.time()
        unproven = _unproven(restarts, data, now)
        found = (
            *problems.of_disk(platform.state_dir, free_bytes(platform.state_dir)),
            *([of_line("the database", "refuses the role", refused)] if refused else []),
            *self._of_passwords(answering),
            *problems.of_services(services, restarts, unproven, platform.processes.logs, now),
            *self._of_pipeline(answering, restarts, unproven, data),
            *problems.of_look(usable - answering, HANGS_S),
            *(answering.ask(lambda: source_changes(platform.services, chosen), "postgres", "s3") or ()),
            *(one for table in data.tables for one in problems.of_table(table, platform.processes.log_file("job"))),
            *problems.of_outbox(data.outbox_queue),
        )
        options = option(platform.options.pipeline)
        found = tuple(replace(one, remedy=with_options(one.remedy, options)) for one in found)
        if found:
            # A password that was taken before may be the cause.
            self._accepted = None
        counted = time.monotonic()
        stages = on_wall_clock(self._stages.read(counted, data), counted, time.time())
        state = judge(alive, found, stages, loads=data.loads, unanswered_s=0)
        return PipelineState(state=state, services=services, stages=stages, data=data, problems=found)

    def _of_pipeline(
        self, answering: Answering, restarts: Mapping[str, Restarts], unproven: set[str], data: DataStatus
    ) -> Iterator[Problem]:
        platform, pipeline = self._platform, self._platform.pipeline
        for denial in platform.denials():
            yield Problem(part="Kafka", what=denial.what)
        for name, why in pipeline.tables_aside().items():
            yield set_aside(name, why)
        if lost := answering.ask(pipeline.lost_changes, "postgres", "kafka", "connect", "s3"):
            yield of_line("the source", "doesn't deliver all changes", lost)
        elif unfinished := platform.unfinished.problem:
            yield of_line("the lake", "may lack changes", unfinished)
        if "connect" in answering:
            # While Kafka hangs, a worker's answer may take a minute.
            api = replace(platform.services.connect.api, timeout_s=ANSWER_S)
            failed = answering.ask(api.failures, "connect")
            log = platform.processes.log_file("connect")
            yield from problems.of_connectors(failed, restarts, unproven - platform.expected(), log, time.time())
        if data.wal is not None and not (data.slot and data.slot.active):
            yield Problem(
                part=f"replication slot {pipeline.connectors.source.slot_name}", what="isn't read by anything"
            )

    def _of_passwords(self, answering: set[str]) -> Iterator[Problem]:
        platform, services = self._platform, self._platform.services
        lost, login = platform.lost_passwords(), services.connector
        yield from problems.of_secrets(lost, platform.pipeline.connectors.lost_salt)
        # A password that was taken isn't tried again while all is well.
        tried = lost or platform.options.outside is not None or login["password"] == self._accepted
        if "postgres" in answering and not tried:
            if refused := refusal(login, SETS_PASSWORD):
                yield of_line("password connector", "is refused", refused)
            else:
                self._accepted = login["password"]
        if "kafka" in answering and not lost and not services.kafka.knows_users():
            yield Problem(
                part="kafka",
                what="knows other passwords than its clients",
                reason=f"those in {services.kafka.users.folder} have changed since its start",
                remedy="`./lake up` restarts it with these",
            )

    def _data(self, answering: Answering, chosen: Sequence[LocalTable]) -> DataStatus:
        services, pipeline, ask = self._platform.services, self._platform.pipeline, answering.ask
        ends = ask(pipeline.topic_ends, "kafka") or {}
        offsets = ask(pipeline.sink_offsets, "kafka") or {}
        states = pipeline.table_states()
        derived = services.derived if len(chosen) == len(services.tables) else ()
        known = {
            table.name: TableStatus(
                name=table.name,
                kind=QUERIED if services.pipeline.is_queried else CAPTURED,
                topic_end=ends.get(table.topic.name),
                sink_offset=offsets.get(table.topic.name),
                state=states.get(table.job_name),
            )
            for table in chosen
        } | {
            table.name: TableStatus(name=table.name, kind=table.kind, state=states.get(table.job_name))
            for table in derived
        }
        with ThreadPoolExecutor(LOOKERS) as pool:
            looks = pool.map(lambda table: self._in_lake(table, known[table.name], answering), (*chosen, *derived))
            tables = tuple(looks)
        outbox, queried = services.pipeline.outbox is not None, services.pipeline.is_queried
        catalogued, synced = ask(self._catalogue, "moto") or (None, None)
        objects = None if queried else ask(lambda: services.s3.count_objects(LANDING_BUCKET, LANDING_PREFIX), "s3")
        return DataStatus(
            tables=tables,
            outbox_rows=ask(services.database.outbox_rows, "postgres") if outbox else None,
            landing_objects=objects,
            outbox_queue=ask(services.database.outbox_queue, "postgres") if outbox else None,
            slot=ask(pipeline.slot, "postgres"),
            wal=None if queried else ask(services.database.wal_position, "postgres"),
            catalogued=catalogued,
            synced=synced,
            queried=queried,
        )

    def _in_lake(self, table: LocalTable | LocalDerived, known: TableStatus, answering: Answering) -> TableStatus:
        s3 = self._platform.services.s3.client()
        instant, extra = answering.ask(lambda: self._newest(table), "s3") or ("", {})
        if instant:
            # A count may take long without a service that hangs.
            count = partial(self._counts.count, table.lake, table.counted_column, instant)
            rows = answering.ask(count) if "s3" in answering else None
            known = replace(known, last_commit=instant, lake_rows=rows)
        elif "s3" in answering and _has_not_begun(table, known.state):
            known = replace(known, state=TableState(state=LOADING, detail="the job has yet to read its rows"))
        if isinstance(table, LocalDerived):
            return known
        quarantine = self._quarantines.setdefault(table.name, Quarantine(table.name, table.lake_name))
        ignored = table.entry.handles_truncate and IGNORED_TRUNCATE in extra
        quarantined = answering.ask(lambda: quarantine.read(s3), "s3")
        known = replace(known, quarantined=quarantined, ignored_truncate=ignored)
        if known.topic_end is None:
            return known
        landed = known.sink_offset
        return replace(
            known, read_to=answering.ask(lambda: read_to(s3, table.landing_prefix, extra.get(PROGRESS), landed), "s3")
        )

    def _catalogue(self) -> tuple[int, str | None]:
        """Return how many of the tables are in the catalog, and the newest commit that it was told of."""
        services = self._platform.services
        wanted = {table.lake_name for table in (*services.tables, *services.derived)}
        found = {name: told for name, told in services.aws.tables(GLUE_DATABASE).items() if name in wanted}
        told = [each["last_commit_time_sync"] for each in found.values() if each.get("last_commit_time_sync")]
        return len(found), max(told, default=None)


def _has_not_begun(table: LocalTable | LocalDerived, state: TableState | None) -> bool:
    direct = isinstance(table, LocalTable) and table.entry.first_load == "direct"
    return direct and (state is None or state.state == STARTING)


def _unproven(restarts: Mapping[str, Restarts], data: DataStatus, now: float) -> set[str]:
    """Name what was restarted and hasn't proven itself: the job does so by a table that works, or says why not."""
    found = {name for name, entry in restarts.items() if entry.unproven(now)} - {"job"}
    silent = {table.state.state for table in data.tables if table.state is not None} <= {STARTING, LOADING}
    return found | {"job"} if "job" in restarts and silent else found
