"""What a pipeline owns in its source database, by name.

The outbox's pipeline has names of its own: the SQL of db/sql makes these objects (a test holds that it has these
names), the source connector reads them, and everything that looks at the source asks for them.
A pipeline of ordinary tables is named in its file (pipelines/). A schema of its own holds two small tables, both
published: the heartbeat, which the connector updates so that its slot moves on while the captured tables are quiet, and
the signals, by which a running connector is asked for a snapshot.
"""

import re

# The outbox's.
DATABASE = "devdb"
SCHEMA = "datalake"
# The table whose rows are the events, and the one whose only row is touched so that the slot moves on.
OUTBOX_TABLE = "cdc_events"
HEARTBEAT_TABLE = "cdc_heartbeat"
# Touches the heartbeat and sends what is queued (docs/decisions/0010).
HEARTBEAT_PROCEDURE = "outbox_beat"
PUBLICATION = "cdc_publication"
SLOT = "cdc_orders"

# Everybody's.
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
