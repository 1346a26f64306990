"""Sources of events: files, Kafka, and queried databases."""
