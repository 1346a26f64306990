"""A predicate on a Connect worker that tells a TRUNCATE's event (docs/decisions/0021)."""

from plugins.workers.worker_classes import PACKAGE, resource, source

PREDICATE = f"{PACKAGE}.IsTruncate"
SOURCE = source("IsTruncate")
# By which a worker finds a plugin's predicates without looking into every class (KIP-898).
_SERVICE = "META-INF/services/org.apache.kafka.connect.transforms.predicates.Predicate"


def resources() -> dict[str, str]:
    """Return the files of a plugin with the predicate, by name (plugins/releases/archive.py)."""
    return {**resource(SOURCE), _SERVICE: f"{PREDICATE}\n"}
