"""Command lines, properties and their combined meaning."""
