"""Makes the lake match the source again: rewrites the outbox, and deletes rows that the source no longer has."""
