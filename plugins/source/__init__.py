"""Debezium's configuration."""
