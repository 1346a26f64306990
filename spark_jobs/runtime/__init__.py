"""The job's environment: Spark, Hadoop, AWS and the process."""
