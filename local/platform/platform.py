"""The pipeline on one machine: starts and stops everything in order, and gives access to it."""

import contextlib
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from local.errors import CancelledError, LockedError, PlatformError
from local.files import create_password, kept_password, write_private
from local.look.lake import Lake
from local.look.topic import Topic
from local.platform.pipeline import LocalPipeline, QueriedPipeline
from local.platform.record import (
    LOGS,
    PORTS,
    Lock,
    PlatformOptions,
    RecordFile,
    Unfinished,
    connector_file,
    password_files,
    passwords,
)
from local.platform.services import GLUE_DATABASE, Services
from local.platform.startup import (
    GRACE_S,
    STOP_ORDER,
    SUPERVISOR,
    Progress,
    Startup,
    Step,
    StepState,
    run_steps,
    silent,
    uninterrupted,
)
from local.services.connect import LENSES, Connect
from local.services.kafka_rights import READER, SINK, Denial, denials, recently
from local.services.postgres import STOPPING, ConnectionParameters, Postgres, PostgresCluster, stop_rules
from local.services.processes import Command, Processes
from local.setup import ports
from settings.load import load_pipeline
from settings.pipeline import Pipeline
from spark_jobs.runtime.archive import ROOT

# Services that bring changes from the log; a query-based pipeline has none of them.
CONNECTORS = ("kafka", "connect", "sink")


class Platform:
    """The platform whose whole state is in the folder `state_dir`. Its processes outlive this object."""

    def __init__(
        self, state_dir: Path, options: PlatformOptions | None = None, applied: Pipeline | None = None
    ) -> None:
        """`applied`: the pipeline as the last `up` has brought it, whatever its file says now."""
        self._applied = applied
        self.state_dir = state_dir.resolve()
        self.record = RecordFile(self.state_dir)
        self.options = self.record.options(options)
        self._cluster = PostgresCluster(self.state_dir / Postgres.name)
        rules = {Postgres.name: stop_rules(self._cluster)}
        self.processes = Processes(self.state_dir, self.state_dir / LOGS, rules)
        self.lock = Lock(self.state_dir / "lock")
        self.restarts_file = self.state_dir / "restarts.json"
        self.unfinished = Unfinished(self.state_dir / "resnapshot-unfinished")
        self._last: tuple[object, tuple[Services, LocalPipeline]] | None = None

    @property
    def _settings(self) -> Pipeline:
        return self._applied or load_pipeline(self.options.pipeline)

    @property
    def services(self) -> Services:
        """The services at their recorded ports. Raises PlatformError when none are recorded."""
        return self._built(self.record.ports())[0]

    @property
    def source(self) -> dict[str, Any]:
        """How to connect to the source database. Raises PlatformError as `services` does, and for a lost password."""
        self._require_passwords()
        return self.services.database.parameters()

    @property
    def topic(self) -> Topic:
        """The first table's topic. Raises PlatformError as `source` does."""
        self._require_passwords("kafka")
        return self.services.tables[0].topic

    @property
    def lake(self) -> Lake:
        return self.services.tables[0].lake

    @property
    def pipeline(self) -> LocalPipeline:
        return self._built(self.record.ports())[1]

    def up(self, progress: Progress = silent, *, stays: bool = True) -> None:
        """Start what doesn't run; return once the source's rows are in the landing bucket and the job runs.

        Continues after a `down`, a kill or a reboot. When it is interrupted or a service doesn't start, it stops what
        it has started. When data doesn't come, everything keeps running; the error says so if the platform `stays`. In
        the end, what runs is supervised. Raises PlatformError, JarsError, JavaNotFoundError or LoadError, each with one
        line.
        """
        with self._at_work():
            self.processes.cancelled.clear()
            try:
                self._start(self._settle(), progress, stays=stays)
            finally:
                running = self.running()
                if running and SUPERVISOR not in running:
                    self.processes.cancelled.clear()
                    self._supervise()

    def _start(self, before: set[str], progress: Progress, *, stays: bool) -> None:
        """Start what isn't in `before`, which runs."""
        if self.options.password is not None:
            write_private(connector_file(self.state_dir / "secrets"), f"{self.options.password}\n")
        for path in self._password_files:
            create_password(path)
        services, pipeline = self._built(self._choose_ports(before))
        self._stop_outdated(services, pipeline, before)
        if "postgres" in before:
            services.postgres.renew_rules()
        self._write_password_file(services.postgres.connection_parameters())
        if not services.pipeline.is_queried:
            if "connect" not in before:
                services.connect.install_plugins()
            services.kafka.users.client_file(READER, services.kafka.bootstrap_servers)
        # With the server, a long load in it ends.
        startup = Startup(self.processes.cancelled, progress, lambda: self._stop({"postgres"} - before, silent))
        try:
            with self._denials_named(), startup.finished():
                run_steps(startup, services, pipeline, self.processes)
            pipeline.check_all_flow()
        except BaseException as error:
            if self.processes.cancelled.is_set():
                with uninterrupted():
                    self._stop([name for name in STOP_ORDER if name not in before], silent)
            elif stays:
                # Keep running services up: the remedy needs them.
                error.add_note("all else runs, `./lake status` says how it is")
            raise

    def revive(self, name: str) -> None:
        """Start a dead service and what depends on its start.

        The caller holds the lock. Raises PlatformError when the service isn't ready in time.
        """
        if name in CONNECTORS:
            self._require_passwords("kafka")
        services, pipeline = self.services, self.pipeline
        if name == "sink":
            pipeline.connectors.run_sink()
        elif name == "job":
            pipeline.start_job()
        else:
            self.processes.run(services.listening[name])
        if name == "moto":
            services.aws.create_database(GLUE_DATABASE)  # which moto forgets at each stop
            if "job" in self.expected():
                self._stop(["job"], silent)  # it fills the new catalog when it starts
                pipeline.start_job()

    def down(self, progress: Progress = silent) -> None:
        """Stop everything in order; the data stays. Does nothing to a platform that doesn't run."""
        # Somebody may have deleted the folder of services that run.
        if not self.state_dir.exists() and not self.running():
            return
        with self._at_work(), uninterrupted():
            self._stop(STOP_ORDER, progress)
            self.record.stopped()

    def remove(self) -> None:
        """Stop everything and delete the platform's data. Raises PlatformError when something doesn't stop."""
        with self._at_work(), uninterrupted():
            self._stop(STOP_ORDER, silent)
            self._cluster.remove()
            for path in self.state_dir.iterdir():
                if path != self.lock.path:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

    def expected(self) -> frozenset[str]:
        """Name the services that the last `up` has started; none after a `down`."""
        return self.record.read().services

    def running(self) -> set[str]:
        return {name for name in self.processes.find() if self.processes.main(name) is not None}

    def require(self, *names: str) -> None:
        """Raise PlatformError when one of these services doesn't run, or a password is lost."""
        running = self.running()
        without = [name for name in names if name in CONNECTORS]
        if running and without and self.services.pipeline.is_queried:
            raise PlatformError(f"pipeline {self.options.pipeline} is queried, so it has no {', '.join(without)}")
        missing = [name for name in names if name not in running and not (name == "postgres" and self.options.outside)]
        if missing and not running - {SUPERVISOR}:
            raise PlatformError(f"the platform in {self.state_dir} is down: `./lake up` starts it")
        if missing:
            logs = ", ".join(str(self.processes.log_file(name)) for name in missing)
            raise PlatformError(f"{', '.join(missing)} must run for that: `./lake up` starts what is dead (see {logs})")
        if running and names != ("s3",):
            self._require_passwords()

    @property
    def _password_files(self) -> list[Path]:
        captured = not self._settings.is_queried
        return password_files(self.state_dir / "secrets", embedded=self.options.outside is None, captured=captured)

    def lost_passwords(self) -> list[Path]:
        """Return the files of the passwords that are lost; `up` creates new ones."""
        return [path for path in self._password_files if not kept_password(path)]

    def _require_passwords(self, *folders: str) -> None:
        if lost := [path for path in self.lost_passwords() if not folders or path.parent.name in folders]:
            raise PlatformError(f"the password in {lost[0]} is lost: `./lake up` sets a new one")

    def pid(self, name: str) -> int | None:
        process = self.processes.main(name)
        return process.pid if process else None

    @contextlib.contextmanager
    def _at_work(self) -> Iterator[None]:
        """Hold the lock. A supervisor that holds it is stopped; the next `up` finishes its work.

        Raises LockedError when another command has it.
        """
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(self.lock.held())
            except LockedError as error:
                if error.holder is None or error.holder != self.pid(SUPERVISOR):
                    raise
                self._stop([SUPERVISOR], silent)
                stack.enter_context(self.lock.held())
            yield

    def denials(self, since: datetime | None = None) -> list[Denial]:
        """Return the rights on Kafka that a role lacked, since a time or recently.

        Leaves out the sink's requests for the topic of a table that is no longer captured: it restarts later.
        """
        services = self.services
        found = denials(self.processes.log_file("kafka"), since=recently(services.kafka.rights_mark, since))
        topics = {table.topic.name for table in services.tables}
        return [one for one in found if one.role != SINK or one.kind != "Topic" or one.name in topics]

    @contextlib.contextmanager
    def _denials_named(self) -> Iterator[None]:
        """Prefix an error with the rights that Kafka denied meanwhile: clients don't report which right they lack."""
        started = datetime.now(UTC)
        try:
            yield
        except CancelledError:
            raise
        except PlatformError as error:
            if denied := self.denials(started):
                raise PlatformError("; ".join([*map(str, denied), str(error)])) from error
            raise

    def _built(self, at: dict[str, int]) -> tuple[Services, LocalPipeline]:
        """Build services and pipeline, unless the last ones have these ports, passwords and pipeline."""
        kept, pipeline = passwords(self.state_dir / "secrets"), self._settings
        key = (at, kept, pipeline)
        if self._last is None or self._last[0] != key:
            services = Services(self.state_dir, ports=at, passwords=kept, options=self.options, pipeline=pipeline)
            kind = QueriedPipeline if pipeline.is_queried else LocalPipeline
            self._last = key, (services, kind(services, self.processes))
        return self._last[1]

    def _settle(self) -> set[str]:
        """Stop services that can't stay as they are, and name those that keep running.

        Raises PlatformError for an invalid release before it stops any.
        """
        running = self.running()
        wanted = self._wanted_services()
        stale = running - wanted | running & {SUPERVISOR}
        if "connect" in wanted and LENSES.differs(self.state_dir / Connect.name / "plugins", self.options.lenses):
            stale.add("connect")
        if self._cluster.state == STOPPING:
            stale.add("postgres")  # it may wait for its clients to leave
        catalog, job = map(self.processes.main, ("moto", "job"))
        if job and (catalog is None or job.create_time() < catalog.create_time()):
            stale.add("job")  # a new catalog is empty, and the job fills it when it starts
        self._stop([name for name in STOP_ORDER if name in stale], silent)
        return running - stale

    def _supervise(self) -> None:
        if not self.options.supervised:
            return
        argv = [sys.executable, "-m", "local.platform.supervisor", "--folder", str(self.state_dir)]
        argv += ["--lenses", str(self.options.lenses.resolve())] if self.options.lenses else []
        argv += [] if self.options.job else ["--no-job"]
        self.restarts_file.unlink(missing_ok=True)  # from the previous supervisor
        self.processes.start(SUPERVISOR, Command(argv=argv, folder=ROOT))

    def _choose_ports(self, running: set[str]) -> dict[str, int]:
        """Choose and record this start's ports: the earlier ones where they are free or ours."""
        earlier = self.record.read().ports
        # The controller's port belongs to the broker's process.
        kept = {name for name in PORTS if name.partition("-")[0] in running}
        chosen = ports.choose(PORTS, earlier=earlier, kept=kept)
        if running and chosen != earlier:
            # Running services would look for the others at their old ports.
            self._stop(STOP_ORDER, silent)
            running.clear()
            chosen = ports.choose(PORTS, earlier=earlier)
        self.record.write(self.options, chosen, self._wanted_services())
        return chosen

    def _stop_outdated(self, services: Services, pipeline: LocalPipeline, running: set[str]) -> None:
        """Stop what has other logins than the present ones: a broker with all its clients, or a worker."""
        if "kafka" in running and not services.kafka.is_current():
            self._stop(STOP_ORDER, silent)
            running.clear()
        if not services.pipeline.is_queried and pipeline.connectors.write_logins() and "connect" in running:
            self._stop(["connect"], silent)
            running.discard("connect")

    def _wanted_services(self) -> frozenset[str]:
        queried = self._settings.is_queried
        without = {
            "job": not self.options.job,
            **dict.fromkeys(CONNECTORS, queried),
            "sink": self.options.lenses is not None or queried,
            SUPERVISOR: not self.options.supervised,
            "postgres": self.options.outside is not None,
        }
        return frozenset(name for name in STOP_ORDER if not without.get(name))

    def _write_password_file(self, source: ConnectionParameters) -> None:
        line = ":".join((source["host"], str(source["port"]), "*", source["user"], source["password"]))
        write_private(self.record.password_file, line + "\n")

    def _stop(self, names: Iterable[str], progress: Progress) -> None:
        """Stop services one after the other, continuing after one that can't be stopped."""
        # Includes leftovers of dead services.
        found = self.running() | set(self.processes.find())
        failed: list[PlatformError] = []
        for name in (name for name in names if name in found):
            started = time.monotonic()
            progress(Step(name=name, state=StepState.STARTED))
            state_now = StepState.DONE
            try:
                self.processes.stop(name, grace_s=GRACE_S[name])
            except PlatformError as error:
                failed.append(error)
                state_now = StepState.FAILED
            progress(Step(name=name, state=state_now, note="stopped", seconds=time.monotonic() - started))
        if failed:
            raise failed[0]
