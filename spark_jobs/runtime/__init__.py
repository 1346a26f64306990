"""Spark, Hadoop, AWS and the process: what the job runs in."""
