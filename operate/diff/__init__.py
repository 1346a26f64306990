"""What a deployment would change, compared with what was reviewed last, what is deployed, or other settings."""
