"""Asks the lake of a running platform in Athena's SQL: snapshots by hudi-rs, statements by DuckDB."""
