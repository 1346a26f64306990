"""Pauses an environment and resumes it, without losing a change."""
