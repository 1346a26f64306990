"""The EMR cluster and the job's steps."""
