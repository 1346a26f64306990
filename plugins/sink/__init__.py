"""The S3 sink's configuration."""
