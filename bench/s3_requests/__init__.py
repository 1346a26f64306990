"""How many requests to S3 a commit takes."""
