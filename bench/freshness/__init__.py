"""How old a change is at each stage between PostgreSQL and the lake."""
