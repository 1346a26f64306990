"""Set-up of a machine: jars, Java, Spark's home and ports."""
