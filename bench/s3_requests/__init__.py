"""The number of S3 requests that a commit takes."""
