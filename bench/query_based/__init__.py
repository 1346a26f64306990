"""Rows of a random load that polls by a timestamp lose and JdbcSource doesn't, and how long JdbcSource's scans take."""
