"""A change's age at each stage between PostgreSQL and the lake."""
