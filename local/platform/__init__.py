"""A platform: its record, steps, pipeline and supervisor."""
