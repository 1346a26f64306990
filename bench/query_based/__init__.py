"""What a poll by a timestamp loses of a random load, what JdbcSource doesn't, and how long its looks take."""
