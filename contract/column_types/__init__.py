"""What becomes of a column of each PostgreSQL type: one table of facts for whoever captures, compares or queries."""
