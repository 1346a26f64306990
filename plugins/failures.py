"""What a failed connector's stack trace means: one line that says what is wrong and what to do.

The known ones were captured from Debezium 3.7 on Connect 3.9 (tests/plugins/failures/).
"""

import re
from collections.abc import Mapping

from plugins.captured import INCLUDED_TABLES, shown
from plugins.connector_names import EVENTS_TABLE

_CAUSE = re.compile(r"^Caused by: (.*)$", re.MULTILINE)
_CLASS = re.compile(r"^(?:[a-z]\w*\.)+\w+(?:Exception|Error)?: ")
# The longest line that is worth showing: Debezium's own may hold a whole offset.
LONGEST = 300

# What the trace says → what it means, with what it names, what is captured and the command that brings it again.
_KNOWN = (
    (
        re.compile(r"but this is no longer available on the server"),
        "the replication slot is gone or was made anew, and with it changes: run `{command}`",
    ),
    (
        re.compile(
            r"can no longer (?:get changes from|be accessed).*replication slot|slot has been invalidated", re.DOTALL
        ),
        "the replication slot is lost (the server has removed the changes that it held): run `{command}`",
    ),
    (
        re.compile(r"Publication autocreation is disabled|publication \"[^\"]+\" does not exist"),
        "the publication is gone, or was made again after the slot: run `{command}`",
    ),
    (
        # What a TRUNCATE's event, which has no key, does to the transformation of plugins/transformations.py.
        re.compile(r"supported .*for \[mask fields\], found: null"),
        'a captured table was emptied by TRUNCATE, and its pipeline says to stop there: set truncate = "apply" for it,'
        ' by which its rows go from the lake, too, or "ignore", and start again (docs/tables.md)',
    ),
    (
        re.compile(r"is not permitted to log in"),
        "the connector's role may not log in: ALTER ROLE … LOGIN, then start it again",
    ),
    (
        re.compile(
            r"RecordTooLargeException: The message is (?P<size>\d+) bytes.* larger than (?P<limit>\d+)", re.DOTALL
        ),
        "an event of {tables} has {size} bytes, more than the {limit} that Kafka takes from here:"
        " make that row smaller, then run `{command} SKIP=1`",
    ),
    (
        re.compile(r"RecordTooLargeException"),
        "an event of {tables} is larger than the topic takes: make that row smaller, then run `{command} SKIP=1`",
    ),
    (
        re.compile(r"this worker's JVM writes text in (?P<charset>\S+), not in UTF-8"),
        "the worker's JVM writes text in {charset}, where ä and € would become ?, so the task doesn't start: give it"
        " -Dfile.encoding=UTF-8, or run the connector on EKS (docs/runbooks/connector-task-failed.md)",
    ),
)


def reason(trace: str, configuration: Mapping[str, str] | None = None) -> str:
    """Return one line for a stack trace: what is known of it, else its first line and its last cause.

    `configuration` is the connector's: a trace doesn't name the table whose event it is about.
    """
    for pattern, text in _KNOWN:
        if found := pattern.search(trace):
            return text.format(**found.groupdict(), **_captured(configuration or {}))
    first = trace.strip().splitlines()[0] if trace.strip() else "no reason given"
    causes = _CAUSE.findall(trace)
    parts = [first] if not causes or causes[-1] in first else [first, causes[-1]]
    return ": ".join(_short(_CLASS.sub("", part).rstrip(".:")) for part in parts)


def _captured(configuration: Mapping[str, str]) -> dict[str, str]:
    """Name what a source connector captures, and the command that brings its changes again."""
    first, *more = map(shown, configuration.get(INCLUDED_TABLES, "a captured table").split(","))
    said = f"one of its {len(more) + 1} tables (which one, `failed to send record to` in the worker's log says)"
    command = "make resnapshot" + ("" if first == EVENTS_TABLE else " PIPELINE=…")
    return {"tables": said if more else first, "command": command}


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"
