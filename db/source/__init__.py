"""A source database: its catalogue, a pipeline's requirements, and how they are met."""
