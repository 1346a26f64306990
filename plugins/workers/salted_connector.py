"""Debezium with a salt that no configuration shows: our classes on the source connector's worker.

Debezium has the salt of hashed columns in a property's name, where Kafka Connect resolves no reference. SaltedTask.java
puts it there when the task starts, from a value that the worker's config provider resolves.
"""

from collections.abc import Mapping

from plugins.workers.worker_classes import PACKAGE, resource, source

CONNECTOR = f"{PACKAGE}.SaltedConnector"
# In the order in which one needs another.
SOURCES = (source("SaltedTask"), source("SaltedConnector"))
# As SaltedTask.java has it; Debezium masks in its log what ends so.
SALT_PROPERTY = "hash.salt.secret"
# Of the secret that holds the salt, as JSON.
SALT_KEY = "salt"
# By which a worker finds a plugin's connectors without looking into every class (KIP-898).
_SERVICE = "META-INF/services/org.apache.kafka.connect.source.SourceConnector"


def salted(configuration: Mapping[str, str], reference: str) -> dict[str, str]:
    """Return a source connector's configuration by which its task takes the salt from a config provider's reference."""
    return {**configuration, "connector.class": CONNECTOR, SALT_PROPERTY: reference}


def resources() -> dict[str, str]:
    """Return the files of a plugin with these classes, by name (plugins/releases/archive.py)."""
    classes = {name: text for java in SOURCES for name, text in resource(java).items()}
    return {**classes, _SERVICE: f"{CONNECTOR}\n"}
