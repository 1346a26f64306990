"""Lambda functions: custom resources and what runs by a schedule."""
