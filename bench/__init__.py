"""Benchmarks: `./lake dev bench`."""
