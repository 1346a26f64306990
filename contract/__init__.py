"""What programs must agree on: standard library only, and nothing of ours is imported here."""
