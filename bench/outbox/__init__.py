"""Throughput of the outbox functions: ours in both modes against row triggers on orders and lines."""
