"""Lambda functions: custom resources' handlers and scheduled functions."""
