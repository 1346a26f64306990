"""JDBC sources for Kafka Connect elsewhere."""
