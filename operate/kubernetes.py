"""Calls an environment's EKS cluster with the caller's own credentials."""

from functools import partial

import boto3

from operate.outputs import QUICK
from plugins.workers.kubernetes_api import Cluster, Kubernetes, signed_token
from settings.environment import Environment
from stacks.connectors.manifests import INSTANCE, NAMESPACE


def cluster_api(session: boto3.Session, environment: Environment) -> Kubernetes:
    """Return the API of the environment's cluster; it refuses callers outside connectors.eks.administrators.

    Raises botocore's errors.
    """
    found = session.client("eks", config=QUICK).describe_cluster(name=environment.prefix)["cluster"]
    authority = found["certificateAuthority"]["data"]
    cluster = Cluster(name=environment.prefix, endpoint=found["endpoint"], authority=authority)
    credentials = session.get_credentials()
    return Kubernetes(cluster, token=partial(signed_token, environment.prefix, environment.region, credentials))


def workers(api: Kubernetes, connector: str) -> list[str]:
    """Return the names of a connector's pods, including terminating ones. Raises KubernetesError, UnreachableError."""
    return [str(pod["metadata"]["name"]) for pod in api.pods(NAMESPACE, {INSTANCE: connector})]
