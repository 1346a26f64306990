"""Reads an environment's or the platform's Kafka, and starts the Kafka UI."""
