"""Queries the lake of a running platform in Athena's SQL: hudi-rs reads snapshots, DuckDB runs statements."""
