"""Where events come from: files, Kafka, and databases that are queried."""
