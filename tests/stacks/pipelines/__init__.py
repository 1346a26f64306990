"""Environments with several pipelines, queried ones and outside databases."""
