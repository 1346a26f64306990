"""Our worker's report on its tasks for probes and alarms: Connect's REST extension (docs/decisions/0095)."""

PATH = "/cdc-lake/tasks"
# A connector's metrics, under MSK Connect's dimension and names (MSK developer guide, "Monitoring MSK Connect"), so
# that alarms differ only by their namespace.
DIMENSION = "ConnectorName"
RUNNING, FAILED = "RunningTaskCount", "ErroredTaskCount"
SOURCE_RATE, SINK_RATE = "SourceRecordWriteRate", "SinkRecordSendRate"
# By the worker's own names.
RATES = {"source-record-write-rate": SOURCE_RATE, "sink-record-send-rate": SINK_RATE}
# Ours: one for each restart of failed tasks.
RESTARTS = "Restarts"
# Ours: only for a source that follows its slot during a re-snapshot (plugins/source/source_connector.py). While it
# is published, nothing else may change that connector.
FOLLOWS_SLOT = "FollowsSlot"


def namespace(environment_prefix: str) -> str:
    """Return the namespace of an environment's connectors on our own workers."""
    return f"{environment_prefix}/kafka-connect"
