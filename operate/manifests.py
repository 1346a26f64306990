"""Prints an environment's Kubernetes objects as `kubectl` reads them: `./lake aws manifests`."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from operate.errors import OperateError
from settings.environment import Environment
from stacks.gate.template import LATER, request_of

KINDS = ("Custom::KubernetesObjects", "Custom::KubernetesConnector")
# Placeholder for values known only once deployed, such as the brokers' addresses.
UNKNOWN = "KNOWN-AT-DEPLOYMENT"


def manifests(environment: Environment, synthesize: Callable[[Environment], Mapping[str, Any]]) -> str:
    """Return all objects as one List in JSON, which is also YAML. Raises OperateError if connectors run elsewhere.

    `synthesize` returns an environment's templates by stack.
    """
    if environment.eks is None:
        raise OperateError(
            f"environments/{environment.name}.toml: its connectors run on MSK Connect: nothing is put on Kubernetes "
            "(docs/aws/eks.md)"
        )
    items = list(_objects(synthesize(environment)))
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=2)
    return text.replace(json.dumps(LATER)[1:-1], UNKNOWN)


def _objects(templates: Mapping[str, Any]) -> Iterator[Any]:
    resources = [resource for template in templates.values() for resource in template["Resources"].values()]
    for kind in KINDS:
        for resource in resources:
            if resource["Type"] == kind:
                yield from (request_of(resource) or {})["objects"]
