"""A source database: what its catalogue says, what a pipeline needs of it, and how that is done there."""
