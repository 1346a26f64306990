"""The services of a platform, one module for each, and the processes that run them."""
