"""A transformation that lets no task start on a Connect worker whose JVM doesn't write in UTF-8 (docs/decisions/0040).

For MSK Connect, whose JVM nobody can set: elsewhere contract/text.py does.
"""

from collections.abc import Mapping

from plugins.workers.worker_classes import PACKAGE, TRANSFORMATION_SERVICE, resource, source

TRANSFORMATION = f"{PACKAGE}.Utf8Only"
SOURCE = source("Utf8Only")
_STEP = "utf8"


def resources() -> dict[str, str]:
    """Return the files of a plugin with the transformation, by name (plugins/releases/archive.py)."""
    return {**resource(SOURCE), TRANSFORMATION_SERVICE: f"{TRANSFORMATION}\n"}


def checked(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return a connector's configuration whose tasks fail, with a reason, on a worker that would change texts."""
    steps = filter(None, (_STEP, configuration.get("transforms")))
    return {**configuration, "transforms": ",".join(steps), f"transforms.{_STEP}.type": TRANSFORMATION}
