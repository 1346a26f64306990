"""A stand-in for the Lenses S3 sink connector, for machines without its release: docs/decisions/0040."""
