"""Generators of committed files."""
