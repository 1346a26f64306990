"""What many tables in one application cost."""
