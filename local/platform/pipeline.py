"""What moves the data through the services: the source connector, the S3 sink and the streaming job."""

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psycopg2
from botocore.exceptions import BotoCoreError, ClientError
from confluent_kafka import KafkaException

from contract.lake import LANDING_PREFIX
from db import data_set
from db.loading import LoadOptions, load, transaction
from db.migrating import migrate
from db.replication import COMMAND, WAY_OUT
from local.errors import LostChangesError, PlatformError
from local.platform.former_topic import FormerTopic
from local.platform.processes import Command, Processes
from local.platform.services import (
    GLUE_DATABASE,
    GLUE_TABLE,
    LAKE_BUCKET,
    LAKE_PATH,
    LANDING_BUCKET,
    SECRET,
    TOPIC,
    Services,
)
from local.platform.state import Passwords, write_private
from local.resnapshot.connector import LocalConnector
from local.services.connect import OFFSET_TOPIC
from local.services.connect_api import RequestError
from local.services.kafka.acls import Acl
from local.services.kafka.roles import SINK, SOURCE, TOPICS, platform_acls
from local.services.postgres import ConnectionParameters
from local.services.s3 import ENVIRONMENT, REGION
from local.services.spark import spark_submit
from local.setup.ports import HOST
from plugins.connectors import SinkSettings, SourceSettings, sink_connector, sink_group, source_connector
from plugins.topics import planned_topics
from spark_jobs import keys, submit
from spark_jobs.submit import TableJob

ROOT = Path(__file__).resolve().parents[2]
DATA_TIMEOUT_S = 600
# What the job's environment needs of what spark_submit gives it; the caller's AWS credentials aren't among it.
JOB_VARIABLES = ("JAVA_HOME", "SPARK_", "PYSPARK_", "AWS_ENDPOINT_URL_", "AWS_EC2_METADATA_DISABLED")
POLL_S = 0.2
LOOK_S = 2
LOST = "changes are lost"
# How long a connector that had failed before may go on saying so after it was told to start again.
RESTART_S = 10


class Flow:
    """The moving parts of the platform in `folder`."""

    def __init__(self, folder: Path, *, services: Services, passwords: Passwords, processes: Processes) -> None:
        self._folder = folder
        self._services = services
        self._passwords = passwords
        self._processes = processes
        self.lost: str | None = None
        self._patience_s: dict[str, float] = {}
        self._source = SourceSettings(
            database_hostname=HOST,
            database_port=services.ports["postgres"],
            database_name=services.options.database,
            database_password=services.connect.password_reference(passwords.connector),
            database_sslmode="disable",
            topic_prefix=TOPIC.split(".", 1)[0],
            heartbeat_interval_ms=1_000,
            poll_interval_ms=50,
            retry_wait_ms=1_000,
        )
        self._sink = SinkSettings(
            topics=(TOPIC,),
            bucket=LANDING_BUCKET,
            prefix=LANDING_PREFIX,
            region=REGION,
            endpoint=services.s3.endpoint,
            flush_interval_seconds=1,
        )
        # Kept for ever: a platform that was down for a week goes on from where it was.
        self._topics = planned_topics(self._source, self._sink, brokers=1, retention_hours=None, offsets=OFFSET_TOPIC)

    @property
    def source_name(self) -> str:
        """The source connector's name."""
        return self._source.name

    @property
    def sink_name(self) -> str:
        """The sink connector's name."""
        return self._sink.name

    def source_is_read(self) -> bool:
        """Tell whether a connector reads the source's replication slot."""
        slot = self._services.database.slot(self._source.slot_name, "0/0")
        return slot is not None and slot.active

    def source_connector(self) -> LocalConnector:
        """The source connector, for a re-snapshot."""
        return LocalConnector(
            self._services.connect.api,
            self._services.topic,
            self._source.name,
            self._source.slot_name,
            self._acting_as(SOURCE, source_connector(self._source)),
        )

    def former_topic(self) -> FormerTopic:
        """What was landed, beside the topic as it is now."""
        return FormerTopic(
            self._services.kafka,
            self._services.s3,
            topic=self._services.topic,
            planned=self._topics,
            bucket=LANDING_BUCKET,
            prefix=LANDING_PREFIX,
            sink=self._sink.name,
        )

    def lost_changes(self) -> str | None:
        """Say in one line why changes don't leave the source, or are missing for good; None when all is well."""
        # In this order: an offset that was stored meanwhile may be beyond the position that we know.
        offsets = self._services.connect.api.stored_offsets(self._source.name)
        state = self._services.database.replication(self._source.slot_name)
        if any(int(offset.get("lsn") or 0) > state.position for offset in offsets):
            return (
                f"the log of {state.database} is behind what was read from it, so the database was restored, and new"
                f" changes would count as old: {WAY_OUT}"
            )
        # Before the first start there is no slot, and none is missing.
        problems = state.problems if state.has_slot or offsets else state.problems_beside_slot
        return problems[0] if problems else self.former_topic().problem()

    def set_landing_aside(self) -> int:
        """Make room for a topic that was made again; return how many objects were in its way."""
        self._services.connect.api.stop(self._sink.name)
        self._processes.stop("sink", grace_s=0)
        return self.former_topic().set_aside()

    def load_source(self) -> str:
        """Create and load the source database; where an earlier start has, bring its outbox up to this version."""
        database, options = self._services.database, self._services.options
        parameters = self._services.postgres.connection_parameters(options.database)
        database.create_if_missing()
        if database.is_loaded():
            self._refuse_other_data(parameters)
            done = migrate(parameters, options.mode)
            migrated = f", outbox migrated ({done.mode})" if done.changed else ""
            return f"{database.outbox_rows():,} orders kept{migrated}"
        wanted = LoadOptions(
            connector_password=self._passwords.connector,
            mode=options.mode or "transaction",
            scale=options.scale or 1,
            dump=options.dump,
        )
        report = load(parameters, wanted, lambda *_step: None)
        return f"{report.events:,} orders loaded"

    def _refuse_other_data(self, parameters: ConnectionParameters) -> None:
        """Raise PlatformError when the user asks for other rows than were loaded: nothing would come of it."""
        options = self._services.options
        if options.scale is None and options.dump is None:
            return
        wanted = data_set.describe(scale=options.scale or 1, dump=options.dump)
        with transaction(parameters) as cursor:
            loaded = data_set.noted(cursor)
        if wanted != loaded:
            raise PlatformError(
                f"the source database has {loaded or 'rows that nobody has described'}, so it can't be started with"
                f" {wanted}: start it without --scale and --from, or `make down` and remove {self._folder} to load anew"
            )

    def fill_aws(self) -> None:
        """Create what moto has forgotten: the Glue database and the connector's secret."""
        parameters = self._services.connector_parameters(self._source.database_user, self._passwords.connector)
        self._services.aws.create_database(GLUE_DATABASE)
        self._services.aws.put_secret(SECRET, parameters)

    @property
    def rights(self) -> frozenset[Acl]:
        """What each role may do in Kafka."""
        return platform_acls(self._source, self._sink, self._topics)

    def grant_rights(self) -> str | None:
        """Bring the rights on Kafka to what the roles have on AWS."""
        made, removed = self._services.kafka.bring_acls(self.rights)
        return f"{made} ACLs made, {removed} removed" if made or removed else None

    def _acting_as(self, user: str, configuration: Mapping[str, str]) -> dict[str, str]:
        """Let a connector act as the role that is its own on AWS; everything else is as there."""
        login = self._services.kafka.users.java_login(user)
        return {**configuration, **self._services.connect.acting_as(user, login)}

    def create_topics(self) -> None:
        """Create the pipeline's topics ahead of the connectors, as on AWS."""
        self._services.kafka.create_topics(self._topics, user=TOPICS)

    def create_buckets(self) -> None:
        """Create the buckets of landing and lake."""
        self._services.s3.create_buckets([LANDING_BUCKET, LAKE_BUCKET])

    def start_source(self) -> str:
        """Configure the source connector and wait until what was committed so far is in the topic."""
        name = self._source.name
        self._configure(name, self._acting_as(SOURCE, source_connector(self._source)))
        if not self._came(self._delivery(), failing=name, what="snapshot"):
            return LOST
        return f"{self._services.topic.count():,} events"

    def start_sink(self) -> None:
        """Start the stand-in of the S3 sink, or configure the real one on the worker."""
        if self._services.options.lenses:
            self._configure(self._sink.name, self._acting_as(SINK, sink_connector(self._sink)))
            return
        # An earlier start may have had the real one, and both would share the consumer group.
        self._services.connect.api.delete_connector(self._sink.name)
        self.run_sink()

    def _configure(self, name: str, configuration: Mapping[str, str]) -> None:
        """Give a connector its configuration; one that had failed starts again, and may say so for a while."""
        api = self._services.connect.api
        failed_before = api.failure(name) is not None
        api.put_connector(name, configuration)
        if failed_before:
            api.restart_failed(name)
            self._patience_s[name] = RESTART_S

    def resume_sink(self) -> None:
        """Let the real sink, which was stopped, run again."""
        self._services.connect.api.resume(self._sink.name)

    def run_sink(self) -> None:
        """Start the stand-in of the S3 sink, unless it runs."""
        if self._processes.main("sink") is None:
            configuration = {"name": self._sink.name, "config": sink_connector(self._sink)}
            path = self._folder / "sink" / "sink.json"
            write_private(path, json.dumps(configuration, indent=1) + "\n")
            argv = [sys.executable, "-m", "local.sink", "--config", str(path)]
            kafka = self._services.kafka
            argv += ["--kafka", str(kafka.users.client_file(SINK, kafka.bootstrap_servers))]
            self._processes.start("sink", Command(argv=argv, folder=ROOT, environment=ENVIRONMENT))

    def wait_landed(self) -> str:
        """Wait until the sink has landed everything that is in the topic now."""
        if self.lost:
            return LOST
        _, end = self._services.topic.bounds()
        # The real one is a connector of the worker.
        service, failing = ("connect", self._sink.name) if self._services.options.lenses else ("sink", None)
        if not self._came(lambda: self.sink_offset() >= end, what="landing", service=service, failing=failing):
            return LOST
        return f"{self._services.s3.count_objects(LANDING_BUCKET, LANDING_PREFIX):,} objects"

    def start_job(self) -> None:
        """Start the streaming job, unless it runs."""
        if self._processes.main("job") is None:
            work = self._folder / "job"
            argv, environment = spark_submit(
                job_arguments(),
                work_folder=work,
                log_file=self._processes.log_file("spark"),
                s3_endpoint=self._services.s3.endpoint,
                glue_endpoint=self._services.aws.endpoint,
            )
            kept = {name: value for name, value in environment.items() if name.startswith(JOB_VARIABLES)}
            self._processes.start("job", Command(argv=argv, folder=work, environment=kept | ENVIRONMENT))

    def wait_lake(self) -> None:
        """Wait until the lake has a table and the job has told the catalogue, as it does after each of its starts."""

        def there() -> bool:
            return self._services.lake.exists() and self._services.aws.has_table(GLUE_DATABASE, GLUE_TABLE)

        if not self.lost:
            self._came(there, what="lake", service="job")

    def sink_offset(self) -> int:
        """Return the offset that the sink goes on from: everything before it is in the landing bucket."""
        return self._services.kafka.committed_offset(sink_group(self._sink.name), TOPIC) or 0

    def _delivery(self) -> Callable[[], bool]:
        """Return the question whether Debezium has delivered all that was committed when it began to stream."""
        database, topic = self._services.database, self._services.topic
        position: str | None = None

        def delivered() -> bool:
            nonlocal position
            slot = database.slot(self._source.slot_name, position or "0/0")
            if slot is None or not slot.active:
                return False
            if position is None:
                position = database.wal_position()
                return False
            # The slot's position is confirmed once the events before it are in the topic: never during a snapshot.
            confirmed = slot.behind_bytes is not None and slot.behind_bytes <= 0
            return confirmed and topic.count() >= database.outbox_rows()

        return delivered

    def _came(self, reached: Callable[[], bool], **how: Any) -> bool:
        """Wait as `_wait_for` does; False, with the reason kept, when changes were lost: what runs is to run on."""
        try:
            self._wait_for(reached, **how)
        except LostChangesError as error:
            self.lost = str(error)
            return False
        return True

    def _wait_for(
        self,
        reached: Callable[[], bool],
        *,
        what: str,
        service: str = "connect",
        failing: str | None = None,
    ) -> None:
        """Wait for data; a dead service or a failed connector ends it with the reason at once."""
        started = looked = time.monotonic()
        while not _is(reached):
            if time.monotonic() - looked > LOOK_S or self._processes.main(service) is None:
                looked = time.monotonic()
                self._check_nothing_is_lost()
            for name in ("kafka", service):
                self._processes.check_alive(name)
            waited = time.monotonic() - started
            patience_s = self._patience_s.get(failing or "", 0)
            if failing and waited > patience_s and (reason := self._services.connect.api.failure(failing)):
                self._check_nothing_is_lost()
                if COMMAND in reason:
                    raise LostChangesError(f"connector {failing} has failed: {reason}")
                raise PlatformError(f"connector {failing} has failed: {reason} ({self._processes.log_file('connect')})")
            if waited > DATA_TIMEOUT_S:
                raise PlatformError(f"{what}: not all data came within {DATA_TIMEOUT_S} s: see {self._processes.logs}")
            self._processes.pause(POLL_S)

    def _check_nothing_is_lost(self) -> None:
        """Raise LostChangesError when what is waited for can't come. A service that is away says nothing."""
        try:
            problem = self.lost_changes()
        except (KafkaException, TimeoutError, RequestError, psycopg2.Error, BotoCoreError, ClientError):
            return
        if problem:
            raise LostChangesError(problem)


def _is(reached: Callable[[], bool]) -> bool:
    """Ask; a broker that has just been restarted may not know its partitions' leaders yet."""
    try:
        return reached()
    except (KafkaException, TimeoutError):
        return False


def job_arguments() -> list[str]:
    """Return the streaming job's options: HoodieDeltaStreamer's, with our storage and the default layout."""
    job = TableJob(
        landing=f"s3a://{LANDING_BUCKET}/{LANDING_PREFIX}",
        table_path=f"s3a://{LAKE_BUCKET}/{LAKE_PATH}",
        database=GLUE_DATABASE,
        table=GLUE_TABLE,
        schema_file=str(ROOT / "pipelines" / "orders" / "cdc_events.avsc"),
        properties_file=str(ROOT / "spark_jobs" / "conf" / "cdc_events.properties"),
        # Here nobody pays for requests, and somebody waits for each change.
        sync_interval_seconds=0,
        configuration={keys.POLL_INTERVAL: "0.2"},
    )
    return submit.job_arguments(job)
