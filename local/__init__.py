"""The pipeline on one machine: platform, demos, comparison, repair, queries and the live page."""
