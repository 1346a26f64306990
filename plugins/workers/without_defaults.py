"""A transformation by which a NULL of a column with a DEFAULT stays NULL: our class on the source connector's worker.

Without it Kafka Connect gives the default in its place, and what was NULL can't be told any more (decision 0070).
"""

from plugins.record_steps import Step
from plugins.workers.worker_classes import PACKAGE, TRANSFORMATION_SERVICE, resource, source

TRANSFORMATION = f"{PACKAGE}.WithoutDefaults"
SOURCE = source("WithoutDefaults")
STEP = Step("nulls", {"type": TRANSFORMATION})


def resources() -> dict[str, str]:
    """Return the files of a plugin with the transformation, by name (plugins/releases/archive.py)."""
    return {**resource(SOURCE), TRANSFORMATION_SERVICE: f"{TRANSFORMATION}\n"}
