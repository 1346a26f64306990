"""Calls an environment's EKS cluster with the caller's own credentials, and prints its objects for `kubectl`."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import boto3

from operate.errors import OperateError
from operate.outputs import QUICK
from plugins.workers.kubernetes_api import Cluster, Kubernetes, signed_token
from settings.environment import Environment
from stacks.connectors.manifests import INSTANCE, NAMESPACE
from stacks.gate.template import LATER, request_of

KINDS = ("Custom::KubernetesObjects", "Custom::KubernetesConnector")
# Placeholder for values known only once deployed, such as the brokers' addresses.
UNKNOWN = "KNOWN-AT-DEPLOYMENT"


def cluster_api(session: boto3.Session, environment: Environment) -> Kubernetes:
    """Return the cluster's API; it refuses all but connectors.eks.administrators. Raises botocore's errors."""
    found = session.client("eks", config=QUICK).describe_cluster(name=environment.prefix)["cluster"]
    authority = found["certificateAuthority"]["data"]
    cluster = Cluster(name=environment.prefix, endpoint=found["endpoint"], authority=authority)
    credentials = session.get_credentials()
    return Kubernetes(cluster, token=partial(signed_token, environment.prefix, environment.region, credentials))


def workers(api: Kubernetes, connector: str) -> list[str]:
    """Return the names of a connector's pods, including terminating ones. Raises KubernetesError, UnreachableError."""
    return [str(pod["metadata"]["name"]) for pod in api.pods(NAMESPACE, {INSTANCE: connector})]


def manifests(environment: Environment, synthesize: Callable[[Environment], Mapping[str, Any]]) -> str:
    """Return all objects as one List in JSON, which is also YAML. Raises OperateError if connectors run elsewhere.

    `synthesize` returns an environment's templates by stack.
    """
    if environment.eks is None:
        raise OperateError(
            f"environments/{environment.name}.toml: its connectors run on MSK Connect: nothing is put on Kubernetes "
            "(docs/aws/eks.md)"
        )
    resources = [each for template in synthesize(environment).values() for each in template["Resources"].values()]
    wanted = [each for kind in KINDS for each in resources if each["Type"] == kind]
    items = [item for each in wanted for item in (request_of(each) or {})["objects"]]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=2)
    return text.replace(json.dumps(LATER)[1:-1], UNKNOWN)
