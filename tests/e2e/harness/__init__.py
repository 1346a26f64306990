"""Platforms, commands and writers for end-to-end tests."""
