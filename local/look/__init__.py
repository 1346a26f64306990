"""Reads a running platform: status, progress, lake, quarantine."""
