"""Compares tables of any size with the lake in bounded memory, through hashes computed by PostgreSQL and DuckDB."""
