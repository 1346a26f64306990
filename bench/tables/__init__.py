"""The cost of many tables in one application."""
