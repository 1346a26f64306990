"""What becomes of a column of each PostgreSQL type: one table of facts to capture, compare and query by."""
