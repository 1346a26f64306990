"""The Kafka broker: configuration, users, ACLs, topics and their events."""
