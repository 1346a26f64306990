"""Tables that are captured by queries: what is looked at, and how a row becomes an event."""
