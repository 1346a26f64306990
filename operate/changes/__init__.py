"""What changing a setting does to a deployed environment."""
