"""The live page of a running platform: `make dashboard`."""
