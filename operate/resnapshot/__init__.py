"""Re-reads rows of an environment on AWS, and compares them with the lake."""
