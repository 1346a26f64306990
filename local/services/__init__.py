"""The services that a platform runs, one module for each, and the processes they live in."""
