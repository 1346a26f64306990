"""Commands for an environment on AWS."""
