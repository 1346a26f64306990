"""From events to what the table takes in: the newest of each key, in the order of changes."""
