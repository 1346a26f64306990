"""From events to the table's changes: the newest of each key, in the order of changes."""
