"""What a worker of ours says of its tasks to probes and alarms: Connect's REST extension (docs/decisions/0095)."""

PATH = "/cdc-lake/tasks"
# What is published of a connector, under the dimension and names that MSK Connect has for it (MSK developer guide,
# "Monitoring MSK Connect"), so that alarms differ by their namespace alone.
DIMENSION = "ConnectorName"
RUNNING, FAILED = "RunningTaskCount", "ErroredTaskCount"
SOURCE_RATE, SINK_RATE = "SourceRecordWriteRate", "SinkRecordSendRate"
# By what the worker calls them.
RATES = {"source-record-write-rate": SOURCE_RATE, "sink-record-send-rate": SINK_RATE}
# Ours: one for each restart of failed tasks.
RESTARTS = "Restarts"
# Ours: of a source that a re-snapshot has follow its slot (plugins/source/source_connector.py), and of no other. While
# it is published, nothing else may change that connector.
FOLLOWS_SLOT = "FollowsSlot"


def namespace(environment_prefix: str) -> str:
    """Name the namespace of an environment's connectors on workers of ours."""
    return f"{environment_prefix}/kafka-connect"
