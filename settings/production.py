"""Requirements on production environments, shared by the settings' rules and the templates' review."""

# Days. A weekend and a holiday may pass before an operator reacts, and the backup must be older than the fault.
BACKUP_DAYS = 7
# An investigation starts with a month of logs.
LOG_DAYS = 30
# MSK developer guide, "Best practices": three zones, a replication factor of 3 and min.insync.replicas of 2.
BROKERS = 3
ZONES = 3
# Hours. Kafka keeps events while the sink is down: from Friday evening until it is fixed on Monday.
TOPIC_HOURS = 72
# Days that landed objects stay for a job that is down, or a table that is rebuilt.
LANDING_DAYS = 14
# Days in which a deleted or overwritten object can be restored.
NONCURRENT_DAYS = 7
PASSWORD_DAYS = 90
