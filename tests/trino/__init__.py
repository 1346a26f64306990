"""Trino on loopback, for the tests that `./lake dev test trino` runs: what it needs, the server, and the tests."""
