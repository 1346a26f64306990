"""What production asks of every environment that is one: the settings' rules and the templates' review share it."""

# Days. A weekend and a holiday pass before somebody looks, and a backup that is older than the fault is needed.
BACKUP_DAYS = 7
# A month of logs is what an inquiry begins with.
LOG_DAYS = 30
# MSK developer guide, "Best practices": three zones, a replication factor of 3 and min.insync.replicas of 2.
BROKERS = 3
ZONES = 3
# Hours. Kafka keeps events while the sink is down: from Friday evening until somebody has mended it on Monday.
TOPIC_HOURS = 72
# Days that landed objects stay for a job that is down, or a table that is built anew.
LANDING_DAYS = 14
# Days in which a deleted or overwritten object can be brought back.
NONCURRENT_DAYS = 7
PASSWORD_DAYS = 90
