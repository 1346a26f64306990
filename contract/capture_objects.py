"""What a pipeline of ordinary tables owns in its source database, by name.

A schema of its own holds two small tables: the heartbeat, which the connector updates so that its slot moves on while
the captured tables are quiet, and the signals, by which a running connector is asked for a snapshot. Both are
published.
The outbox's pipeline keeps the names of `datalake` that it has had (db/sql).
"""

import re

CONNECTOR_ROLE = "cdc_connector"
HEARTBEAT = "heartbeat"
SIGNAL = "signal"
# Debezium reads id, type and data of the signal table by their position ("Sending signals to a Debezium connector").
# The role itself may enter a row, which is how an incremental snapshot marks its windows, and take it away again.
SIGNAL_RIGHTS = ("SELECT", "INSERT", "DELETE")

_PLAIN = re.compile(r"[a-z_][a-z0-9_]{0,62}\Z")


def own_schema(pipeline: str) -> str:
    """Name the pipeline's schema, and by default its publication and slot, which take no hyphen."""
    return "cdc_" + pipeline.replace("-", "_")


def heartbeat_statement(schema: str) -> str:
    """Return the heartbeat's statement (`heartbeat.action.query`): one row, whose change needs no other right."""
    return f"UPDATE {quoted(schema)}.{HEARTBEAT} SET beat_at = now() WHERE id = 1"  # noqa: S608 - our own names


def quoted(name: str) -> str:
    """Return a name as SQL takes it: in quotes unless it is plain. For our own names, none of which is a keyword."""
    return name if _PLAIN.match(name) else '"' + name.replace('"', '""') + '"'
