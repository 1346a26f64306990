"""The names of a pipeline's objects in its source database.

The outbox's pipeline has its own names: the SQL of db/sql creates these objects (a test checks the names), and the
source connector and everything that inspects the source use them.
A pipeline of ordinary tables is named in its file (pipelines/). Its own schema holds two small published tables: the
heartbeat, which the connector updates so that its slot advances while the captured tables are idle, and the signals,
through which a running connector is asked for a snapshot.
"""

import re

# The outbox's.
DATABASE = "devdb"
SCHEMA = "datalake"
# The table whose rows are the events, and the one whose only row is updated so that the slot advances.
OUTBOX_TABLE = "cdc_events"
HEARTBEAT_TABLE = "cdc_heartbeat"
# Updates the heartbeat and sends queued events (docs/decisions/0010).
HEARTBEAT_PROCEDURE = "outbox_beat"
PUBLICATION = "cdc_publication"
SLOT = "cdc_orders"

# Shared by all pipelines.
CONNECTOR_ROLE = "cdc_connector"
HEARTBEAT = "heartbeat"
SIGNAL = "signal"
# Debezium reads id, type and data of the signal table by position ("Sending signals to a Debezium connector").
# The role itself may insert a row, with which an incremental snapshot marks its windows, and delete it again.
SIGNAL_RIGHTS = ("SELECT", "INSERT", "DELETE")

# What the policies that bind a role (`r` of pg_roles; 0 is PUBLIC) do to its SELECT of a relation (`c` of pg_class):
# whether one shows all rows, and whether a restrictive one may hide some of them all the same.
ROW_POLICIES = """(
    SELECT coalesce(bool_or(p.polpermissive AND pg_get_expr(p.polqual, p.polrelid) = 'true'), FALSE) AS shows_all,
        coalesce(bool_or(NOT p.polpermissive), FALSE) AS hides
    FROM pg_policy p WHERE p.polrelid = c.oid AND p.polcmd IN ('r', '*') AND EXISTS (
        SELECT FROM unnest(p.polroles) AS m (role) WHERE m.role = 0 OR pg_has_role(r.oid, m.role, 'USAGE')
    )
)"""
# Whether policies show the user all rows of these relations (an array of oid); NULL where none applies.
SHOWS_ALL_ROWS = f"""
SELECT bool_and(s.shows_all AND NOT s.hides)
FROM pg_class c JOIN pg_roles r ON r.rolname = current_user CROSS JOIN LATERAL {ROW_POLICIES} AS s
WHERE c.oid = ANY ({{relations}}) AND row_security_active(c.oid)
"""  # noqa: S608 - put together from parts that stand here

_PLAIN = re.compile(r"[a-z_][a-z0-9_]{0,62}\Z")


def own_schema(pipeline: str) -> str:
    """Return the pipeline's schema, whose name is also the default of its publication and slot; none takes a hyphen."""
    return "cdc_" + pipeline.replace("-", "_")


def heartbeat_statement(schema: str) -> str:
    """Return the heartbeat's statement (`heartbeat.action.query`): it updates one row and needs no other right."""
    return f"UPDATE {quoted(schema)}.{HEARTBEAT} SET beat_at = now() WHERE id = 1"  # noqa: S608 - our own names


def quoted(name: str) -> str:
    """Return a name as SQL takes it: quoted unless it is plain. For our own names, none of which is a keyword."""
    return name if _PLAIN.match(name) else '"' + name.replace('"', '""') + '"'
