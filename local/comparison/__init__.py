"""Compares tables of any size with the lake: by hashes that PostgreSQL and DuckDB compute, in bounded memory."""
