"""Kafka Connect's workers: our classes on them, and the configuration of workers of our own (docs/decisions/0095).

Values known only where a worker starts come from its environment, so all of a connector's workers share one file: the
address by which the others reach it, the brokers, and the topic of its offsets.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from plugins.connector_names import workers_group, workers_topics
from plugins.connector_properties import JSON_CONVERTER

REST_PORT = 8083
# Environment variables of a worker, referenced in the file.
ADDRESS, BROKERS, OFFSETS = "POD_IP", "BOOTSTRAP_SERVERS", "OFFSET_TOPIC"
SECRETS_PROVIDER = "com.amazonaws.kafka.config.providers.SecretsManagerConfigProvider"
# A connector's clients.
_CLIENTS = ("producer", "consumer", "admin")
# Kafka stops a task that takes longer; a pod gets more time than that.
STOP_S = 20
# With the worker's role: aws-msk-iam-auth's README, "Configuring a Kafka client to use AWS IAM".
IAM_LOGIN = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "AWS_MSK_IAM",
    "sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;",
    "sasl.client.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
}


def worker_properties(
    connector: str, *, plugin_path: str, login: Mapping[str, str], secrets_region: str | None = None
) -> dict[str, str]:
    """Configure the workers of one connector; `login` is how they, and its clients, log in to Kafka.

    `secrets_region`: where the connector's secrets are, if it names any.
    """
    secrets = {"class": SECRETS_PROVIDER, "param.region": secrets_region} if secrets_region else {}
    config, status = workers_topics(connector)
    variables = "|".join((ADDRESS, BROKERS, OFFSETS))
    return {
        "bootstrap.servers": _variable(BROKERS),
        **login,
        **{f"{client}.{name}": value for client in _CLIENTS for name, value in login.items()},
        "group.id": workers_group(connector),
        "config.storage.topic": config,
        "status.storage.topic": status,
        "offset.storage.topic": _variable(OFFSETS),
        # The brokers' default; one connector's offsets and states are few.
        **{f"{name}.storage.replication.factor": "-1" for name in ("config", "offset", "status")},
        **{f"{name}.storage.partitions": "1" for name in ("offset", "status")},
        "key.converter": JSON_CONVERTER,
        "value.converter": JSON_CONVERTER,
        "listeners": f"http://:{REST_PORT}",
        "rest.advertised.host.name": _variable(ADDRESS),
        "rest.advertised.port": str(REST_PORT),
        "rest.extension.classes": WORKER_HEALTH.name,
        "plugin.path": plugin_path,
        # Debezium and our classes include the manifests that a quick start needs, Lenses's may not.
        "plugin.discovery": "hybrid_warn",
        "connector.client.config.override.policy": "All",
        # A lost worker doesn't come back under its name: another takes its tasks at once.
        "scheduled.rebalance.max.delay.ms": "0",
        "task.shutdown.graceful.timeout.ms": str(STOP_S * 1_000),
        "config.providers": "env,secretsmanager" if secrets_region else "env",
        "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
        "config.providers.env.param.allowlist.pattern": variables,
        **{f"config.providers.secretsmanager.{name}": value for name, value in secrets.items()},
    }


def properties_file(properties: Mapping[str, str]) -> str:
    """Write a worker's file, ours or MSK Connect's. Raises ValueError for a value that the worker would misread."""
    for name, value in properties.items():
        if "\n" in value or "\\" in value:
            # Don't repeat the value: it may be a secret.
            raise ValueError(f"{name} must be one line of text without a backslash")
    return "".join(f"{name}={value}\n" for name, value in sorted(properties.items()))


def _variable(name: str) -> str:
    return f"${{env:{name}}}"


# Our classes on a Connect worker: Java sources in java/, with their Janino-compiled classes next to them.
#
# `./lake dev generate worker-classes` compiles them, so deploying or starting a platform needs no compiler; a test
# compiles each and compares.

PACKAGE = "cdclake"
_FOLDER = Path(__file__).parent / "java"


@dataclass(frozen=True)
class WorkerClass:
    """One class. With `service`, Connect's interface, a worker finds it without scanning every class (KIP-898)."""

    simple_name: str
    service: str | None = None

    @property
    def name(self) -> str:
        return f"{PACKAGE}.{self.simple_name}"

    @property
    def source(self) -> Path:
        return _FOLDER / f"{self.simple_name}.java"

    @property
    def compiled(self) -> Path:
        """The file with the compiled class, in Base64: a plugin's files travel as text."""
        return self.source.with_suffix(".class.b64")


# Debezium's values that it can't convert, or changes (docs/decisions/0070).
EVERY_VALUE = WorkerClass("EveryValue")
# In place of Debezium's own hashing, with the salt that the worker's config provider resolves (docs/decisions/0055).
HASHED_COLUMNS = WorkerClass("HashedColumns")
# A predicate that recognizes a TRUNCATE's event (docs/decisions/0021).
IS_TRUNCATE = WorkerClass("IsTruncate", "transforms.predicates.Predicate")
# A restart loses no event that shares its LSN with others (docs/decisions/0042).
RESUMABLE_OFFSETS = WorkerClass("ResumableOffsets", "transforms.Transformation")
# No task starts on a worker whose JVM doesn't write in UTF-8 (docs/decisions/0040). For MSK Connect, whose JVM
# can't be configured: elsewhere contract/text.py does it.
UTF8_ONLY = WorkerClass("Utf8Only", "transforms.Transformation")
# A NULL of a column with a DEFAULT stays NULL: otherwise Connect replaces it with the default (docs/decisions/0070).
WITHOUT_DEFAULTS = WorkerClass("WithoutDefaults", "transforms.Transformation")
# Our worker's report on its tasks (plugins/workers/connect_workers.py).
WORKER_HEALTH = WorkerClass("WorkerHealth", "rest.ConnectRestExtension")

# Classes of a source connector.
OF_SOURCES = (EVERY_VALUE, HASHED_COLUMNS, IS_TRUNCATE, RESUMABLE_OFFSETS, WITHOUT_DEFAULTS)
ALL = (*OF_SOURCES, UTF8_ONLY, WORKER_HEALTH)


def resources(*classes: WorkerClass) -> dict[str, str]:
    """Return the files of a plugin with these classes, by name (plugins/releases/archive.py)."""
    files: dict[str, str] = {}
    for each in classes:
        files[f"{PACKAGE}/{each.simple_name}.class"] = each.compiled.read_text(encoding="ascii").strip()
        if each.service is not None:
            services = f"META-INF/services/org.apache.kafka.connect.{each.service}"
            files[services] = f"{files.get(services, '')}{each.name}\n"
    return files


def only_in_utf8(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return a connector's configuration whose tasks fail, with a reason, on a worker that would change texts."""
    steps = filter(None, ("utf8", configuration.get("transforms")))
    return {**configuration, "transforms": ",".join(steps), "transforms.utf8.type": UTF8_ONLY.name}


PATH = "/cdc-lake/tasks"
# A connector's metrics, under MSK Connect's dimension and names (MSK developer guide, "Monitoring MSK Connect"), so
# that alarms differ only by their namespace.
DIMENSION = "ConnectorName"
RUNNING, FAILED = "RunningTaskCount", "ErroredTaskCount"
SOURCE_RATE, SINK_RATE = "SourceRecordWriteRate", "SinkRecordSendRate"
# By the worker's own names.
RATES = {"source-record-write-rate": SOURCE_RATE, "sink-record-send-rate": SINK_RATE}
# Ours: one for each restart of failed tasks.
RESTARTS = "Restarts"
# Ours: only for a source that follows its slot during a re-snapshot (plugins/source/source_connector.py). While it
# is published, nothing else may change that connector.
FOLLOWS_SLOT = "FollowsSlot"


def namespace(environment_prefix: str) -> str:
    """Return the namespace of an environment's connectors on our own workers."""
    return f"{environment_prefix}/kafka-connect"
