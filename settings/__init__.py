"""Environments and pipelines as types, read from TOML files and checked."""
