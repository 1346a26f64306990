"""Command lines and properties files for the Java services."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from local.errors import PlatformError
from local.files import write_private
from local.setup.jars import jar_folder
from local.setup.java import java_binary, jvm_flags

# Read as something else in a value: a blank before it, a backslash, and what may not be Latin-1.
_SPECIAL = re.compile(r"\A |\\|[^ -~]")
LOG4J = {
    "log4j.rootLogger": "WARN, stdout",
    "log4j.appender.stdout": "org.apache.log4j.ConsoleAppender",
    "log4j.appender.stdout.layout": "org.apache.log4j.PatternLayout",
    "log4j.appender.stdout.layout.ConversionPattern": "%d %p %c{1}: %m%n",
    # A line for each denied request.
    "log4j.logger.kafka.authorizer.logger": "INFO",
    # One line a second while the broker is down would fill the disk.
    "log4j.logger.org.apache.kafka.clients.NetworkClient": "ERROR",
}


def properties_text(properties: Mapping[str, str]) -> str:
    """Write properties, one a line, such that java.util.Properties reads the same values from Latin-1 bytes."""
    return "".join(f"{name}={_SPECIAL.sub(_escaped, value)}\n" for name, value in properties.items())


def write_properties(path: Path, properties: Mapping[str, str]) -> None:
    """Write a properties file that only its owner may read."""
    write_private(path, properties_text(properties))


def _escaped(found: re.Match[str]) -> str:
    if found[0] in " \\":
        return f"\\{found[0]}"
    # Java's escapes are UTF-16 units.
    units = found[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def java_command(
    *, jars: str, main: str, arguments: Sequence[str], heap_mb: int, options: Mapping[str, str] | None = None
) -> list[str]:
    """Return the arguments that run the class `main` of a jar set; `options` are system properties."""
    folder = jar_folder(jars)
    if ":" in str(folder):
        raise PlatformError(f"Java can't have a colon in its class path: move the checkout away from {folder}")
    return [
        str(java_binary()),
        *jvm_flags(),
        f"-Xmx{heap_mb}m",
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:-UsePerfData",
        "-Djava.awt.headless=true",
        *(f"-D{name}={value}" for name, value in (options or {}).items()),
        "-cp",
        f"{folder}/*",
        main,
        *arguments,
    ]


def log4j_options(folder: Path) -> dict[str, str]:
    """Write a log4j configuration (warnings to standard output) and return the options that select it."""
    path = folder / "log4j.properties"
    write_properties(path, LOG4J)
    return {"log4j.configuration": path.resolve().as_uri()}
