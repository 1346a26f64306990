"""Who pods are to IAM."""

from aws_cdk import aws_iam as iam


def pod_identity(cluster: str, namespace: str, service_account: str) -> iam.IPrincipal:
    """Who pods of a service account are to IAM (EKS user guide, "Pod Identity role": trust, and its session tags)."""
    tags = {
        "eks-cluster-name": cluster,
        "kubernetes-namespace": namespace,
        "kubernetes-service-account": service_account,
    }
    conditions = {"StringEquals": {f"aws:RequestTag/{name}": value for name, value in tags.items()}}
    return iam.ServicePrincipal("pods.eks.amazonaws.com", conditions=conditions).with_session_tags()
