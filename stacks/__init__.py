"""The CDK stacks of an environment."""
