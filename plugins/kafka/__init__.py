"""Topics, rights in Kafka, and the login to MSK."""
