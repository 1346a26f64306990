"""What was asked for: command lines, properties and what they mean together."""
