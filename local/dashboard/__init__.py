"""The live page of a running platform: `./lake dashboard`."""
