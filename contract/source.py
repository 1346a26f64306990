"""What the outbox's source database has for the pipeline, by name.

The SQL of db/sql makes these objects (a test holds that it has these names), the source connector reads them, and
everything that looks at the source asks for them. Other pipelines' names are in their own files (pipelines/).
"""

DATABASE = "devdb"
SCHEMA = "datalake"
# The table whose rows are the events, and the one whose only row is touched so that the slot moves on.
OUTBOX_TABLE = "cdc_events"
HEARTBEAT_TABLE = "cdc_heartbeat"
# Touches the heartbeat and sends what is queued (docs/decisions/0010).
HEARTBEAT_PROCEDURE = "outbox_beat"
PUBLICATION = "cdc_publication"
SLOT = "cdc_orders"
