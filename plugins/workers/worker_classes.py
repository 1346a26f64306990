"""Our classes on a Connect worker: Java sources in java/, with their Janino-compiled classes next to them.

`./lake dev generate worker-classes` compiles them, so deploying or starting a platform needs no compiler; a test
compiles each and compares.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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
# A predicate that recognizes a TRUNCATE's event (docs/decisions/0021).
IS_TRUNCATE = WorkerClass("IsTruncate", "transforms.predicates.Predicate")
# Debezium has the salt of hashed columns in a property's name, where Connect resolves no reference. The task
# inserts it at its start, from a value that the worker's config provider resolves.
SALTED_TASK = WorkerClass("SaltedTask")
SALTED_CONNECTOR = WorkerClass("SaltedConnector", "source.SourceConnector")
# No task starts on a worker whose JVM doesn't write in UTF-8 (docs/decisions/0040). For MSK Connect, whose JVM
# can't be configured: elsewhere contract/text.py does it.
UTF8_ONLY = WorkerClass("Utf8Only", "transforms.Transformation")
# A NULL of a column with a DEFAULT stays NULL: otherwise Connect replaces it with the default (docs/decisions/0070).
WITHOUT_DEFAULTS = WorkerClass("WithoutDefaults", "transforms.Transformation")
# Our worker's report on its tasks (plugins/workers/worker_health.py).
WORKER_HEALTH = WorkerClass("WorkerHealth", "rest.ConnectRestExtension")

# Classes of a source connector. A later one may need an earlier one.
OF_SOURCES = (EVERY_VALUE, IS_TRUNCATE, SALTED_TASK, SALTED_CONNECTOR, WITHOUT_DEFAULTS)
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
