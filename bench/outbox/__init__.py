"""Throughput of the outbox functions: ours compared with row triggers on orders and lines."""
