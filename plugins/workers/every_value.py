"""Debezium's values that it can't convert, or makes others of: our converter on the source connector's worker.

docs/decisions/0070 says which, EveryValue.java what becomes of them.
"""

from contract import events
from plugins.workers.worker_classes import PACKAGE, resource, source

CONVERTER = f"{PACKAGE}.EveryValue"
SOURCE = source("EveryValue")
_NAME = "every"


def converted() -> dict[str, str]:
    return {"converters": _NAME, f"{_NAME}.type": CONVERTER, f"{_NAME}.placeholder": events.PLACEHOLDER}


def resources() -> dict[str, str]:
    """Return the files of a plugin with the converter, by name (plugins/releases/archive.py)."""
    return resource(SOURCE)
