"""Kafka Connect workers: our Java classes, their health, and workers on EKS."""
