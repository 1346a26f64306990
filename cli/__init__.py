"""The one command, `./lake`: what it takes, and which function does it. Nothing heavy is imported before it is
needed."""
