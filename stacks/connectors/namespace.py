"""What all worker groups on a cluster share: their namespace and its access rules.

Created by the only function with full access to the cluster (stacks/connectors/eks_cluster.py).
"""

from collections.abc import Iterator

from stacks.connectors.manifests import NAMESPACE, PART_OF, Object

# Kubernetes groups that access entries name; the rules below say what each may do in the namespace.
DEPLOYERS, WATCHERS = "cdc-lake-deployers", "cdc-lake-watchers"
_ALL = ["create", "delete", "get", "list", "patch", "update"]
_DEPLOYING = (
    (
        "",
        ["configmaps", "serviceaccounts", "services"],
        _ALL,
    ),
    ("apps", ["deployments"], _ALL),
    ("autoscaling", ["horizontalpodautoscalers"], _ALL),
    ("networking.k8s.io", ["networkpolicies"], _ALL),
    ("policy", ["poddisruptionbudgets"], _ALL),
    ("", ["pods", "pods/log"], ["get", "list"]),
    # Connect's REST interface, which is open to no one else.
    ("", ["services/proxy"], ["create", "delete", "get", "update"]),
)
_WATCHING = (
    ("", ["pods"], ["list"]),
    ("", ["pods/proxy"], ["get"]),
    # Restarting failed tasks is a POST.
    ("", ["services/proxy"], ["create", "get"]),
)


def shared_objects() -> list[Object]:
    """Return the shared objects and their access rules; the cluster's administrator creates them."""
    enforced = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")}
    labels = {"app.kubernetes.io/part-of": PART_OF, **enforced}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}},
        # Makes Auto Mode's nodes enforce network policies (EKS user guide, "Use Network Policies with Auto Mode").
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "amazon-vpc-cni", "namespace": "kube-system"},
            "data": {"enable-network-policy-controller": "true"},
        },
        _denied(),
        *_may(DEPLOYERS, _DEPLOYING),
        *_may(WATCHERS, _WATCHING),
    ]


def _may(group: str, rules: tuple[tuple[str, list[str], list[str]], ...]) -> Iterator[Object]:
    metadata = {"name": group, "namespace": NAMESPACE, "labels": {"app.kubernetes.io/part-of": PART_OF}}
    api = "rbac.authorization.k8s.io"
    written = [{"apiGroups": [name], "resources": kinds, "verbs": verbs} for name, kinds, verbs in rules]
    yield {"apiVersion": f"{api}/v1", "kind": "Role", "metadata": metadata, "rules": written}
    yield {
        "apiVersion": f"{api}/v1",
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": api, "kind": "Role", "name": group},
        "subjects": [{"apiGroup": api, "kind": "Group", "name": group}],
    }


def _denied() -> Object:
    """Deny pods of the namespace all traffic that no group's own policy allows."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "nothing", "namespace": NAMESPACE},
        "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]},
    }
