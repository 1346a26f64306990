"""What an environment costs a month."""
