"""Configures Kafka Connect's own distributed workers, where they aren't MSK Connect's (docs/decisions/0095).

Values known only where a worker starts come from its environment, so all of a connector's workers share one file: the
address by which the others reach it, the brokers, and the topic of its offsets.
"""

from collections.abc import Mapping

from plugins.connector_names import workers_group, workers_topics
from plugins.connector_properties import JSON_CONVERTER
from plugins.workers.worker_classes import WORKER_HEALTH

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
        **_secrets(secrets_region),
    }


def _secrets(region: str | None) -> dict[str, str]:
    if region is None:
        return {}
    prefix = "config.providers.secretsmanager"
    return {f"{prefix}.class": SECRETS_PROVIDER, f"{prefix}.param.region": region}


def _variable(name: str) -> str:
    return f"${{env:{name}}}"
