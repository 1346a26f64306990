"""What CloudFormation does to each resource that a deployment changes."""
