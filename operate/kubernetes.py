"""Calls an environment's EKS cluster with the caller's own credentials."""

from functools import partial

import boto3

from operate.outputs import QUICK
from plugins.workers.kubernetes_api import Cluster, Kubernetes, signed_token
from settings.environment import Environment
from stacks.kubernetes.manifests import INSTANCE, NAMESPACE


def cluster_api(session: boto3.Session, environment: Environment) -> Kubernetes:
    """Return the API of the environment's cluster; who isn't in connectors.eks.administrators is refused by it.

    Raises botocore's errors.
    """
    found = session.client("eks", config=QUICK).describe_cluster(name=environment.prefix)["cluster"]
    authority = found["certificateAuthority"]["data"]
    cluster = Cluster(name=environment.prefix, endpoint=found["endpoint"], authority=authority)
    credentials = session.get_credentials()
    return Kubernetes(cluster, token=partial(signed_token, environment.prefix, environment.region, credentials))


def workers(api: Kubernetes, connector: str) -> list[str]:
    """Name a connector's pods, those that are ending among them. Raises KubernetesError, UnreachableError."""
    return [str(pod["metadata"]["name"]) for pod in api.pods(NAMESPACE, {INSTANCE: connector})]
