"""Explains a failed connector's stack trace: one line with the cause and the remedy.

The known traces were captured from Debezium 3.7 on Connect 3.9 (tests/plugins/source/failures/).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from contract.table_names import table_option, topic_part
from plugins.connector_names import EVENTS_TABLE
from plugins.source.captured import INCLUDED_TABLES, shown

_CAUSE = re.compile(r"^Caused by: (.*)$", re.MULTILINE)
_CLASS = re.compile(r"^(?:[a-z]\w*\.)+\w+(?:Exception|Error)?: ")
# The longest line worth showing: Debezium's own may contain a whole offset.
LONGEST = 300

_TOO_LARGE = "RecordTooLargeException"
# Prefix of each line about a slot that no reader can continue with.
LOST_SLOT = "the replication slot is "
# The last cause of a failure caused by one table: no outage, and no refusal that affects all tables.
_OF_ONE_TABLE = re.compile(
    r"(?:Snapshotting of table .+ failed|Error while processing event at offset)(?s:.*)"
    r"^Caused by: (?:org\.postgresql\.util\.PSQLException: )?(?P<refused>(?:"
    r"ERROR: (?!canceling|current transaction|out of |deadlock|too many|temporary file|could not |cannot execute"
    r"|permission denied for (?:schema|database))"
    r"|java\.(?:time\.[\w.]+|lang\.(?!Interrupted|IllegalState)\w+)Exception\b"
    r"|org\.apache\.kafka\.connect\.errors\.(?:Data|SchemaBuilder)Exception\b)[^\n]{0,300})"
    r"(?!(?s:.*)^Caused by: )",
    re.MULTILINE,
)
# Text in the trace → its meaning, with the names in it, the captured tables and the command that recovers them.
_KNOWN = (
    (
        re.compile(r"but this is no longer available on the server"),
        f"{LOST_SLOT}gone or was made again, and with it changes: run `{{command}}`",
    ),
    (
        re.compile(
            r"can no longer (?:get changes from|be accessed).*replication slot|slot has been invalidated", re.DOTALL
        ),
        f"{LOST_SLOT}lost (the server has removed the changes that it held): run `{{command}}`",
    ),
    (
        re.compile(r"Publication autocreation is disabled|publication \"[^\"]+\" does not exist"),
        "the publication is gone, or was made again after the slot: run `{command}`",
    ),
    (
        # Our own predicate's message (plugins/workers/java/IsTruncate.java).
        re.compile(r"Exception: (?P<topic>\S+) was emptied by TRUNCATE"),
        "{tables} was emptied by TRUNCATE, and its pipeline says to stop there: run `{command}{which}`, by which its"
        ' rows go from the lake, too, or set truncate = "apply" or "ignore" (docs/reference/source-changes.md)',
    ),
    (
        re.compile(r"is not permitted to log in"),
        "the connector's role may not log in: ALTER ROLE … LOGIN, then start it again",
    ),
    (
        re.compile(rf"{_TOO_LARGE}: The message is (?P<size>\d+) bytes.* larger than (?P<limit>\d+)", re.DOTALL),
        "an event of {tables} has {size} bytes, more than the {limit} that Kafka takes from here:"
        " make that row smaller, then run `{command}{which}`",
    ),
    (
        re.compile(_TOO_LARGE),
        "an event of {tables} is larger than the topic takes: make that row smaller, then run `{command}{which}`",
    ),
    (
        re.compile(r"Failed to properly convert (?:data|key) value for '(?P<column>.+)' of type (?P<type>.+)"),
        "a value of column {column} ({type}) of {tables} can't be converted: change it, or leave the column out"
        " (`leave_out`), then run `{command}{which}`",
    ),
    (
        re.compile(r"Conversion of (?P<type>\w+) failed"),
        "a value of type {type} of {tables} can't be converted: change it, or leave the column out (`leave_out`),"
        " then run `{command}{which}`",
    ),
    (
        # Also for a table that isn't captured: being published is enough.
        re.compile(r"Table '(?P<named>.+)' has columns that differ only by case\. Column name: '(?P<other>.+)'\. "),
        "columns of {named} differ only by case ({other} and another), at which Debezium stops for all tables: rename"
        " or drop one, then run `{command} --skip`",
    ),
    (_OF_ONE_TABLE, "{tables} can't be captured ({refused}): see to that, then run `{command}{which}`"),
    (
        re.compile(r"this worker's JVM writes text in (?P<charset>\S+), not in UTF-8"),
        "the worker's JVM writes text in {charset}, where ä and € would become ?, so the task doesn't start: give it"
        " -Dfile.encoding=UTF-8, or run the connector on EKS (docs/aws/alarms.md#connector-task-failed)",
    ),
)


# In a trace: the table that a snapshot was reading, and the event that couldn't be read from the log.
_SNAPSHOT = re.compile(r"Snapshotting of table (?P<table>.+) failed")
_POSITION = re.compile(r"Error while processing event at offset \{(?:.*, )?lsn=(?P<lsn>\d+)")
# In the worker's log: an event that wasn't sent.
_SENT = re.compile(r"failed to send record to (?P<topic>\S+): ")


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why a connector has failed, in one line, and the captured table that caused it, None if unknown."""

    reason: str
    table: str | None = None


def failure(
    trace: str,
    configuration: Mapping[str, str],
    log: str = "",
    *,
    alone: bool = True,
    table_at: Callable[[int], str | None] = lambda _position: None,
) -> Failure:
    """Explain a stack trace: its known meaning, else its first line and its last cause.

    `configuration` is the connector's. `log`: the worker's log before the trace, which doesn't name the table when an
    event is too large. `alone`: the table is excluded, and recovered alone. `table_at` finds the table of the change at
    a position of the source's log.
    """
    for pattern, text in _KNOWN:
        if found := pattern.search(trace):
            names = [shown(each) for each in configuration.get(INCLUDED_TABLES, "").split(",") if each]
            said = found.groupdict()
            column = said.get("column", "")
            sent = _SENT.findall(log) if pattern.pattern.startswith(_TOO_LARGE) else []
            topic = said.get("topic") or (sent or [""])[-1]
            prefix = configuration.get("topic.prefix", "")
            table = next(
                (name for name in names if column.startswith(f"{name}.") or topic == f"{prefix}.{topic_part(name)}"),
                _at_work(trace, names, table_at) if {"type", "refused"} & said.keys() else None,
            )
            said |= {"column": column.removeprefix(f"{table}."), **_shown(names, table, alone=alone)}
            return Failure(reason=text.format(**said), table=table)
    first = trace.strip().splitlines()[0] if trace.strip() else "no reason given"
    causes = _CAUSE.findall(trace)
    parts = [first] if not causes or causes[-1] in first else [first, causes[-1]]
    plain = [_CLASS.sub("", part).rstrip(".:") for part in parts]
    return Failure(reason=": ".join(part if len(part) <= LONGEST else f"{part[:LONGEST]}…" for part in plain))


def _at_work(trace: str, names: Sequence[str], table_at: Callable[[int], str | None]) -> str | None:
    """Return the table that was being read, by a snapshot or from the log; None if the trace names neither."""
    if found := _SNAPSHOT.search(trace):
        return next((name for name in names if f".{found['table']}".endswith(f".{name}")), None)
    found = _POSITION.search(trace)
    table = table_at(int(found["lsn"])) if found else None
    return table if table in names else None


def reason(trace: str, configuration: Mapping[str, str] | None = None) -> str:
    """Return the line alone, where no table is excluded: on AWS."""
    return failure(trace, configuration or {}, alone=False).reason


def _shown(names: Sequence[str], table: str | None, *, alone: bool) -> dict[str, str]:
    """Name what a connector fails at, and the command that recovers its changes."""
    command = "./lake resnapshot" + ("" if names == [EVENTS_TABLE] else " -p …")
    if len(names) > 1 and table is not None:
        return {"tables": table, "command": command, "which": f" {table_option(table)}" if alone else " --skip"}
    unknown = f"one of its {len(names)} tables (which one, `failed to send record to` in the worker's log says)"
    tables = unknown if len(names) > 1 else (names or ["a captured table"])[0]
    return {"tables": tables, "command": command, "which": " --skip"}
