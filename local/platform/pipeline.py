"""One pipeline on the local platform: moves data through the services, and reports progress."""

import contextlib
import time
from collections.abc import Callable, Sequence

import psycopg2
from confluent_kafka import KafkaException

from contract.lake import LANDING_PREFIX
from contract.table_names import table_option
from db.connecting import connect
from db.source.replication import COMMAND
from local.errors import PlatformError
from local.platform.arriving import ENOUGH_S, GOES_ON, MOVES_S, Arriving
from local.platform.connectors import Connectors, published
from local.platform.job import TableStates, ask, start_job
from local.platform.services import GLUE_DATABASE, LANDING_BUCKET, LocalTable, Services
from local.problem import set_aside
from local.resnapshot.recreated_topic import FormerTopics
from local.services.connect_api import RequestError
from local.services.processes import Processes
from local.services.source_database import Slot, has_rows
from local.sink.settings import UnavailableError
from plugins.connector_names import sink_group

DATA_TIMEOUT_S = 600
POLL_S = 0.2
LOOK_S = 2


class LocalPipeline:
    """The moving parts of a platform."""

    # These services must run for any data to arrive.
    needs: Sequence[str] = ("kafka",)

    def __init__(self, services: Services, processes: Processes) -> None:
        self.connectors = Connectors(services, processes)
        self._services = services
        self._processes = processes
        self._published = published(services.pipeline)
        # The start options of the streaming job, and how far it has read.
        self.job_folder = services.folder / "job"
        # Returns the states that the job reports, by job_name.
        self.table_states = TableStates(processes).read

    @property
    def tables(self) -> tuple[LocalTable, ...]:
        return self._services.tables

    def slot(self) -> Slot | None:
        """Return the source's replication slot and how far it is behind; None when there is none."""
        database = self._services.database
        return database.slot(self.connectors.source.slot_name, database.wal_position())

    @property
    def _former_topics(self) -> FormerTopics:
        """The comparison of the tables' landed records with their current topics."""
        return FormerTopics(
            kafka=self._services.kafka,
            s3=self._services.s3,
            topics=[table.topic for table in self.tables],
            planned=self.connectors.topics,
            sink=self.connectors.sink.name,
            folder=self._services.folder / "sink",
            way_out=self._published.way_out,
        )

    def former_topic_problem(self) -> str | None:
        """Describe in one line the first topic that isn't the one whose records were landed."""
        return next(iter(self._former_topics.problems().values()), None)

    def lost_changes(self) -> str | None:
        """Return in one line why changes don't leave the source, or are lost for good; None when all is well."""
        source = self.connectors.source
        # Read the offsets first: one stored later may be beyond the position read here.
        offsets = self._services.connect.api.stored_offsets(source.name)
        state = self._services.database.replication(source.slot_name, self._published)
        if any(int(offset.get("lsn") or 0) > state.position for offset in offsets):
            return (
                f"the log of {state.database} is behind what was read from it, so the database was restored, and new"
                f" changes would count as old: {self._published.way_out}"
            )
        # Before the first start there is no slot, and none is missing.
        problems = state.problems if state.has_slot or offsets else state.problems_beside_slot
        return problems[0] if problems else self.former_topic_problem()

    def set_landing_aside(self) -> int:
        """Move the landed objects of recreated topics away; return their number."""
        self._services.connect.api.stop(self.connectors.sink.name)
        self._processes.stop("sink", grace_s=0)
        return self._former_topics.set_aside()

    def start_source(self) -> str:
        """Configure the source connector and wait until everything committed so far is in the topics."""
        # Otherwise the connector's failure to pick up new tables would hide the cause.
        self._check_nothing_is_lost()
        self.connectors.provide_salt()
        changed = self.connectors.start_source()
        delivered = self._delivery()
        self._wait("snapshot", self._or_coming(delivered), connector=self.connectors.source.name)
        events = f"{sum(self.topic_ends().values()):,} events" + ("" if _is(delivered) else f"; {GOES_ON}")
        return f"{events}; {changed}" if changed else events

    def take_back(self, tables: Sequence[str]) -> list[str]:
        """Let the source connector capture and read again those of the tables that are set aside; name them.

        The sink skips their refused records. Raises PlatformError with the reason when one fails again.
        """
        self.connectors.pass_over([table.topic.name for table in self.tables if table.name in tables])
        return self.connectors.take_back(tables)

    def tables_aside(self) -> dict[str, str]:
        """Return the tables whose data doesn't flow, each with the reason and the remedy."""
        aside, held = self.connectors.aside.read(), {record.topic: record.reason for record in self.connectors.held}
        pipeline = self._services.pipeline
        for table in self.tables:
            if (reason := held.get(table.topic.name)) is not None:
                which = "" if pipeline.outbox else f" -p {pipeline.name} {table_option(table.name)}"
                way_out = f"`./lake resnapshot{which}` passes over it and reads the table again"
                aside[table.name] = f"the sink refuses {reason}; nothing behind it is landed: {way_out}"
        return {table.name: aside[table.name] for table in self.tables if table.name in aside}

    def check_all_flow(self) -> None:
        """Raise PlatformError when a table is set aside."""
        if aside := self.tables_aside():
            lines = (f"    {set_aside(table, reason)}" for table, reason in aside.items())
            raise PlatformError("\n".join([f"{len(aside)} of {len(self.tables)} tables are set aside", *lines]))

    def wait_landed(self) -> str:
        """Wait until the sink has landed everything that is in the topics now."""
        ends = self.topic_ends()
        # The real sink is a connector of the worker.
        lenses = self._services.options.lenses is not None

        def landed() -> bool:
            offsets, held = self.sink_offsets(), self.connectors.held_topics
            return all(offsets[topic] >= end for topic, end in ends.items() if topic not in held)

        self._wait(
            "landing",
            landed,
            service="connect" if lenses else "sink",
            connector=self.connectors.sink.name if lenses else None,
        )
        return f"{self._services.s3.count_objects(LANDING_BUCKET, LANDING_PREFIX):,} objects"

    def start_job(self, *once: str) -> None:
        """Start the streaming job, unless it runs with these tables and schemas; `once`: options of this start.

        Raises PlatformError before the connector captures a table whose rows the job reads first: what comes between
        would be lost.
        """
        first = {table.name for table in self.tables if table.is_loaded_first}
        if first and (early := first.intersection(self.connectors.not_yet_captured())):
            raise PlatformError(f"{', '.join(sorted(early))} isn't captured yet: `./lake up`")
        start_job(self._services, self._processes, self.job_folder, once=once)

    def read_directly(self, tables: Sequence[LocalTable]) -> None:
        """Restart the job so that it reads all rows of these tables."""
        ask(self.job_folder, dict.fromkeys([table.lake_name for table in tables], f"again-{time.time()}"))
        self.start_job()

    def wait_lake(self, say: Callable[[str], None] = lambda _progress: None) -> str | None:
        """Wait until each table with events is in the lake and in the catalog, which the job fills when it starts.

        A table without events doesn't exist before its first one. A new one is there with all that has landed by now;
        what still moves after a while is left to itself, and the note says how far it is. Raises PlatformError
        for tables that never come.
        """
        wanted = self.awaited()
        arriving = Arriving(wanted, self.topic_ends(), self._services.s3.client())

        def arrived() -> bool:
            return arriving.is_over(self._services.aws.tables(GLUE_DATABASE), self.table_states(), say)

        self._wait("lake", arrived, service="job", missing=lambda: ", ".join(table.name for table in arriving.left))
        return arriving.note() or (f"{len(wanted)} tables" if len(self.tables) > 1 else None)

    def awaited(self) -> list[LocalTable]:
        """Return the tables that must come to the lake: those with events that the sink lands, or with first rows."""
        ends, held = self.topic_ends(), self.connectors.held_topics
        landed = {table.name for table in self.tables if ends[table.topic.name] and table.topic.name not in held}
        direct = [table for table in self.tables if table.entry.first_load == "direct"]
        loaded = {table.name for table in self._with_rows(direct)}
        return [table for table in self.tables if table.name in landed | loaded]

    def _with_rows(self, tables: Sequence[LocalTable]) -> list[LocalTable]:
        """Return the tables that have rows: the lake has no table for an empty one."""
        found = []
        with contextlib.closing(connect(self._services.database.parameters())) as connection:
            for table in tables:
                # At a table that can't be read, the job fails at that alone, and says so.
                with contextlib.suppress(psycopg2.Error):
                    if not has_rows(connection, table.entry):
                        continue
                found.append(table)
        return found

    def topic_ends(self) -> dict[str, int]:
        """Return the offset that the next event of each topic will get."""
        return self.tables[0].topic.ends(table.topic.name for table in self.tables)

    def sink_offsets(self) -> dict[str, int]:
        """Return the offset at which the sink resumes in each topic: everything before it is in the landing bucket."""
        topics = [table.topic.name for table in self.tables]
        found = self._services.kafka.committed_offsets(sink_group(self.connectors.sink.name), topics)
        return {topic: offset or 0 for topic, offset in found.items()}

    def _wait(
        self,
        what: str,
        reached: Callable[[], bool],
        *,
        service: str = "connect",
        connector: str | None = None,
        missing: Callable[[], str] = lambda: "",
    ) -> None:
        """Wait for data that a service or its connector brings; `missing` names what is left of it.

        Ends at once, with the reason, when the service is dead, the connector has failed, or changes were lost. Raises
        PlatformError.
        """
        started = looked = time.monotonic()
        while not _is(reached):
            if time.monotonic() - looked > LOOK_S or self._processes.main(service) is None:
                looked = time.monotonic()
                self._check_nothing_is_lost()
            for name in (*self.needs, service):
                self._processes.check_alive(name)
            if connector is not None and (reason := self.connectors.failure(connector)) is not None:
                self._go_on_or_raise(connector, reason)
            if time.monotonic() - started > DATA_TIMEOUT_S:
                left = f" ({names})" if (names := missing()) else ""
                raise PlatformError(
                    f"{what}: not all data came within {DATA_TIMEOUT_S} s{left}: see {self._processes.logs}"
                )
            self._processes.pause(POLL_S)

    def _go_on_or_raise(self, connector: str, reason: str) -> None:
        """Let a source connector that fails at one table continue without it; raise for any other failure."""
        self._check_nothing_is_lost()
        if connector == self.connectors.source.name and self.connectors.set_aside() is not None:
            return
        if COMMAND in reason:
            raise PlatformError(f"connector {connector} has failed: {reason}")
        raise PlatformError(f"connector {connector} has failed: {reason} ({self._processes.log_file('connect')})")

    def _check_nothing_is_lost(self) -> None:
        """Raise PlatformError when the awaited data can't come. A service that is down is ignored."""
        try:
            problem = self.lost_changes()
        except (KafkaException, TimeoutError, RequestError, psycopg2.Error, UnavailableError):
            return
        if problem:
            raise PlatformError(problem)

    def _delivery(self) -> Callable[[], bool]:
        """Return a check: has Debezium delivered everything that was committed when it began to stream?"""
        database, topic = self._services.database, self.tables[0].topic
        slot_name = self.connectors.source.slot_name
        with_outbox = self._services.pipeline.outbox is not None
        position: str | None = None

        def delivered() -> bool:
            nonlocal position
            slot = database.slot(slot_name, position or "0/0")
            if slot is None or not slot.active:
                return False
            if position is None:
                position = database.wal_position()
                return False
            # The slot's position is confirmed once the events before it are in the topic: never during a snapshot.
            confirmed = slot.behind_bytes is not None and slot.behind_bytes <= 0
            return confirmed and (not with_outbox or topic.count() >= database.outbox_rows())

        return delivered

    def _or_coming(self, delivered: Callable[[], bool]) -> Callable[[], bool]:
        """Return a check that also passes when a snapshot has taken long and its events still come."""
        began, ends = time.monotonic(), list[int]()

        def over() -> bool:
            if delivered():
                return True
            if (waited := time.monotonic() - began) < ENOUGH_S - MOVES_S:
                return False
            ends.append(sum(self.topic_ends().values()))
            return waited >= ENOUGH_S and ends[-1] > ends[0]

        return over


class QueriedPipeline(LocalPipeline):
    """Moves data with the job alone."""

    needs: Sequence[str] = ()

    def slot(self) -> Slot | None:
        return None

    def lost_changes(self) -> str | None:
        """Return None: the next query sees what the last one missed, and the job stops where it can't continue."""
        return None

    def topic_ends(self) -> dict[str, int]:
        return {}

    def sink_offsets(self) -> dict[str, int]:
        return {}

    def awaited(self) -> list[LocalTable]:
        return self._with_rows(self.tables)

    def read_again(self) -> None:
        """Restart the job so that it reads all rows and writes those that differ from the lake's."""
        self.start_job("--ignore-checkpoint", f"again-{time.time()}")


def _is(reached: Callable[[], bool]) -> bool:
    """Ask; a broker that has just been restarted may not know its partitions' leaders yet."""
    try:
        return reached()
    except (KafkaException, TimeoutError):
        return False
