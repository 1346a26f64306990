"""Tables captured by queries: which rows are read, and how a row becomes an event."""
