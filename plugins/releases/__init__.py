"""Connector releases: pins, download and packing."""
