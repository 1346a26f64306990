"""Throughput of the outbox functions: ours against row triggers on orders and lines."""
