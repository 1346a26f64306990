"""Trino on loopback, for the tests that `make test-trino` runs: what it needs, the server, and the tests."""
