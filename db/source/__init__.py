"""A source database as its catalogue describes it."""
