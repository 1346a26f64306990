"""What a worker of ours says of its tasks to probes and alarms: a REST extension of Kafka Connect (docs/decisions/0095)."""

from plugins.worker_classes import PACKAGE, resource, source

EXTENSION = f"{PACKAGE}.WorkerHealth"
SOURCE = source("WorkerHealth")
PATH = "/cdc-lake/tasks"
# By which a worker finds the extension without looking into every class (KIP-898).
_SERVICE = "META-INF/services/org.apache.kafka.connect.rest.ConnectRestExtension"


def resources() -> dict[str, str]:
    """Return the files of the plugin, by name (plugins/archive.py)."""
    return {**resource(SOURCE), _SERVICE: f"{EXTENSION}\n"}
