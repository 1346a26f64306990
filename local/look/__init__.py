"""Reads what a running platform holds: the lake's tables, topics, and objects of JSON lines."""
