"""Any PostgreSQL: reads a database's catalogue and proposes the pipeline that captures it."""
