"""Brings the lake back to what the source says: the outbox written anew, and deletes of what is gone."""
