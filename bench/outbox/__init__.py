"""Throughput of the outbox functions: ours in both modes against one written the text's way."""
