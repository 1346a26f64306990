"""The source database: Northwind's tables, the outbox, replication, the loader and the migrations."""
