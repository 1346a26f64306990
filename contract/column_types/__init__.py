"""How columns of each PostgreSQL type are carried: one table of facts for capturing, comparing and querying."""
