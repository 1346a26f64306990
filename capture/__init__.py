"""Reads any PostgreSQL database's catalogue and proposes the pipeline that captures it."""
