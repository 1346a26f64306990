"""A Kafka 3.9 broker on loopback: one node that is its own KRaft controller, data kept between starts.

Clients log in with SASL/PLAIN as one user per role, each with a random password that only files hold, and may do what
ACLs allow. The broker knows exactly the users of its configuration, so a new role, or a platform folder of an earlier
release, needs only a restart (docs/decisions/0035).
"""

import contextlib
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient

from contract.sizes import SizeLimits
from local.errors import PlatformError, RefusedError
from local.files import kept_password, write_private
from local.services.jvm import java_command, log4j_options, properties_text, write_properties
from local.services.kafka_rights import Acl, sync_acls
from local.services.processes import Command
from local.setup.ports import HOST, accepts_connections
from plugins.kafka.topic_admin import TopicError, Unready, apply_plan
from plugins.kafka.topics import PlannedTopic

LISTENER, CONTROLLER = "CLIENTS", "CONTROLLER"
MECHANISM, PROTOCOL = "PLAIN", "SASL_PLAINTEXT"
# Both have all rights: the broker itself, and the platform, which creates, reads and repairs everything.
BROKER, ADMIN = "broker", "admin"
_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
HEAP_MB = 512
NODE_ID = "1"
REQUEST_TIMEOUT_S = 10.0
TOPICS_TIMEOUT_S = 30.0
POLL_S = 0.1


@dataclass(frozen=True, kw_only=True)
class KafkaUsers:
    """The users of one broker and their passwords, which are left out of its representation."""

    folder: Path
    passwords: Mapping[str, str] = field(repr=False)

    @classmethod
    def kept(cls, folder: Path, roles: Iterable[str]) -> Self:
        """Return the users with the passwords in `folder`; an empty one is lost."""
        return cls(folder=folder, passwords={name: kept_password(folder / name) for name in (BROKER, ADMIN, *roles)})

    def login(self, user: str) -> dict[str, str]:
        """Return how librdkafka's clients log in as a user."""
        return {
            "security.protocol": PROTOCOL,
            "sasl.mechanisms": MECHANISM,
            "sasl.username": user,
            "sasl.password": self.passwords[user],
        }

    def java_login(self, user: str) -> dict[str, str]:
        """Return how Java's clients log in as a user."""
        jaas = f'{_MODULE} username="{user}" password="{self.passwords[user]}";'
        return {"security.protocol": PROTOCOL, "sasl.mechanism": MECHANISM, "sasl.jaas.config": jaas}

    def client_path(self, user: str) -> Path:
        """Name the file that `client_file` writes."""
        return self.folder / f"{user}.properties"

    def client_file(self, user: str, bootstrap_servers: str) -> Path:
        """Write librdkafka clients' settings to connect as a user (`kcat -F` reads them, too); return the file."""
        path = self.client_path(user)
        properties = {"bootstrap.servers": bootstrap_servers, **self.login(user)}
        write_private(path, "".join(f"{name}={value}\n" for name, value in properties.items()))
        return path

    @property
    def broker_properties(self) -> dict[str, str]:
        """The broker's settings: both listeners require a login, and all but broker and administrator need ACLs."""
        known = " ".join(f'user_{name}="{word}"' for name, word in self.passwords.items())
        module = f'{_MODULE} username="{BROKER}" password="{self.passwords[BROKER]}" {known};'
        return {
            "listener.security.protocol.map": f"{LISTENER}:{PROTOCOL},{CONTROLLER}:{PROTOCOL}",
            "inter.broker.listener.name": LISTENER,
            "controller.listener.names": CONTROLLER,
            "sasl.enabled.mechanisms": MECHANISM,
            "sasl.mechanism.inter.broker.protocol": MECHANISM,
            "sasl.mechanism.controller.protocol": MECHANISM,
            **{
                f"listener.name.{listener.lower()}.{MECHANISM.lower()}.sasl.jaas.config": module
                for listener in (LISTENER, CONTROLLER)
            },
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "allow.everyone.if.no.acl.found": "false",
            "super.users": f"User:{BROKER};User:{ADMIN}",
        }


class Kafka:
    """The broker whose files are in `folder`; `users` may log in."""

    name = "kafka"

    def __init__(
        self,
        folder: Path,
        *,
        port: int,
        controller_port: int,
        users: KafkaUsers,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._folder = folder
        self._configuration, self._data = folder / "server.properties", folder / "data"
        # As old as the current rights: earlier denials don't apply to them.
        self.rights_mark = folder / "rights"
        self._port = port
        self.bootstrap_servers = f"{HOST}:{port}"
        self._controller_port = controller_port
        self.users = users
        self._settings = settings or {}

    def client(self, user: str = ADMIN) -> dict[str, str]:
        """Return how librdkafka's clients connect as a user."""
        return {"bootstrap.servers": self.bootstrap_servers, **self.users.login(user)}

    def is_current(self) -> bool:
        """Tell whether the broker was started with this configuration: an earlier release's has no users."""
        try:
            return self._configuration.read_text(encoding="utf-8") == properties_text(self.properties())
        except FileNotFoundError:
            return False

    def knows_users(self) -> bool:
        """Tell whether the broker was started with the users' present passwords."""
        with contextlib.suppress(FileNotFoundError):
            known = self._configuration.read_text(encoding="utf-8").splitlines()
            return set(properties_text(self.users.broker_properties).splitlines()) <= set(known)
        return False

    def prepare(self) -> Command:
        """Write the configuration, create the data folder the first time, and return how to start the broker."""
        write_properties(self._configuration, self.properties())
        options = log4j_options(self._folder)
        if not self._data.exists():
            # As `kafka-storage format` creates it, which would start Java: Kafka 3.9 needs only this file for the
            # features of its own release. Only a complete folder gets the final name.
            unfinished = self._data.with_name("data.new")
            shutil.rmtree(unfinished, ignore_errors=True)
            # Tools take an id with a leading hyphen for an option.
            cluster_id = "C" + secrets.token_urlsafe(16)[1:]
            meta = {"version": "1", "cluster.id": cluster_id, "node.id": NODE_ID}
            write_properties(unfinished / "meta.properties", meta)
            unfinished.rename(self._data)
        arguments = [str(self._configuration)]
        argv = java_command(jars="kafka", main="kafka.Kafka", arguments=arguments, heap_mb=HEAP_MB, options=options)
        return Command(argv=argv, folder=self._folder)

    def ready(self) -> bool:
        """Tell whether it answers. Raises RefusedError when it refuses the administrator's password."""
        if not accepts_connections(self._port):
            return False
        errors: list[KafkaError] = []
        try:
            admin = self._admin(error_cb=errors.append)
            with contextlib.suppress(KafkaException):
                return bool(admin.list_topics(timeout=1).brokers)
            admin.poll(0)  # calls back
        except KafkaException as error:
            raise RefusedError(f"no password of {ADMIN}") from error
        if any(error.code() == KafkaError._AUTHENTICATION for error in errors):
            raise RefusedError(f"wrong password of {ADMIN}")
        return False

    def properties(self) -> dict[str, str]:
        return {
            "process.roles": "broker,controller",
            "node.id": NODE_ID,
            "controller.quorum.voters": f"{NODE_ID}@{HOST}:{self._controller_port}",
            "listeners": f"{LISTENER}://{HOST}:{self._port},{CONTROLLER}://{HOST}:{self._controller_port}",
            "advertised.listeners": f"{LISTENER}://{HOST}:{self._port}",
            **self.users.broker_properties,
            "log.dirs": str(self._data),
            # As on MSK (stacks/streaming.py): a topic is created on purpose, never by a misspelt name.
            "auto.create.topics.enable": "false",
            "num.partitions": "1",
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            # After a kill, the controller accepts no new broker before the dead one's session has ended.
            "broker.session.timeout.ms": "3000",
            "broker.heartbeat.interval.ms": "500",
            "log.cleaner.dedupe.buffer.size": "16777216",
            # A platform resumes even after a week of downtime.
            "log.retention.ms": "-1",
            "offsets.retention.minutes": "525600",
            **SizeLimits().broker,
            **self._settings,
        }

    def sync_acls(self, wanted: Iterable[Acl]) -> tuple[int, int]:
        """Create missing ACLs, delete all others; return how many of each. Raises PlatformError."""
        brought = sync_acls(self._admin(), wanted)
        self.rights_mark.touch()
        return brought

    def create_topics(self, topics: Sequence[PlannedTopic], *, user: str = ADMIN) -> None:
        """Create missing topics, and bring the others to their planned settings. Raises PlatformError.

        `user` does it, with its own rights.
        """
        admin = self._admin(user)
        deadline = time.monotonic() + TOPICS_TIMEOUT_S
        while True:
            try:
                return apply_plan(admin, topics, say=lambda _text: None)  # the steps of a start report enough
            except TopicError as error:
                raise PlatformError(str(error)) from error
            except Unready as reason:
                if time.monotonic() > deadline:
                    raise PlatformError(f"topics aren't made within {TOPICS_TIMEOUT_S:.0f} s: {reason}") from reason
            time.sleep(POLL_S)

    def delete_topic(self, name: str) -> None:
        """Delete a topic and wait until it is gone. Raises PlatformError."""
        admin = self._admin()
        try:
            admin.delete_topics([name])[name].result(REQUEST_TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise PlatformError(f"topic {name} can't be deleted: {error.args[0].str()}") from error

    def topic_ids(self, names: Iterable[str]) -> dict[str, str | None]:
        """Return topics' ids, which change when one is recreated under its name; None where there is no such topic.

        Raises KafkaException when the broker doesn't answer.
        """
        admin = self._admin()  # results are lost if the client is collected first
        found: dict[str, str | None] = {}
        for name, answer in admin.describe_topics(TopicCollection([*names]), request_timeout=REQUEST_TIMEOUT_S).items():
            try:
                found[name] = str(answer.result().topic_id)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise
                found[name] = None
        return found

    def committed_offsets(self, group: str, topics: Sequence[str]) -> dict[str, int | None]:
        """Return the offset at which a consumer group resumes in each topic's partition 0, None before a commit.

        Raises KafkaException when the broker doesn't answer.
        """
        # Not AdminClient.list_consumer_group_offsets: while a fresh broker loads the group's coordinator, that ended
        # this process with a segmentation fault in 2 of 30 starts (librdkafka 2.16.1).
        settings: dict[str, str | int] = {**self.client(), "group.id": group, "log_level": 0}
        settings |= {"client.id": "local", "socket.timeout.ms": 5000, "allow.auto.create.topics": False}
        consumer = Consumer(settings)
        try:
            answers = consumer.committed([TopicPartition(topic, 0) for topic in topics], timeout=REQUEST_TIMEOUT_S)
        finally:
            consumer.close()
        for answer in answers:
            if answer.error is not None:
                raise KafkaException(answer.error)
        return {answer.topic: answer.offset if answer.offset >= 0 else None for answer in answers}

    def _admin(self, user: str = ADMIN, *, error_cb: Callable[[KafkaError], None] = lambda _error: None) -> AdminClient:
        # log_level 0: while the broker starts, librdkafka would write each refused connection to standard error.
        settings: dict[str, Any] = {**self.client(user), "socket.timeout.ms": 5000, "log_level": 0}
        settings |= {"client.id": "local", "error_cb": error_cb}
        return AdminClient(settings)
