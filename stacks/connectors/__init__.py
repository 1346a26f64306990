"""The connectors, on MSK Connect or on EKS."""
