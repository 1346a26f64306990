"""Objects and rights on a real Kubernetes API server: `./lake dev test kubernetes`, not part of `make test`.

The file's name isn't a test's, so pytest runs it only on request.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from contract.tags import OWNER
from plugins.workers.kubernetes_api import Kubernetes, KubernetesError, UnreachableError, delete_all
from stacks.connectors.eks_cluster import shared_objects
from stacks.connectors.manifests import NAMESPACE, objects
from tests.kubernetes.command import binaries
from tests.kubernetes.server import Server, running_server
from tests.stacks.connectors.test_manifests import POD, WORKER, of_kind, set_to
from tests.stacks.environments import group

pytestmark = pytest.mark.integration

NAME = "dev-cdc-lake-orders-sink"
FORBIDDEN = 403


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("kubernetes"), binaries()) as running:
        administrator = running.as_user("administrator")
        for each in shared_objects():
            administrator.apply(each)
        yield running


@pytest.fixture
def deployer(server: Server) -> Kubernetes:
    return server.as_user("deployer")


def tried(api: Kubernetes, wanted: dict[str, Any]) -> str:
    """The API's objections to an object; nothing is created."""
    path = f"{_collection(wanted)}/{wanted['metadata']['name']}?fieldManager=try&force=true&dryRun=All"
    try:
        api._json("PATCH", path, wanted, kind="application/apply-patch+yaml")
    except KubernetesError as error:
        return error.reason
    return ""


def _collection(wanted: dict[str, Any]) -> str:
    version, kind = wanted["apiVersion"], wanted["kind"].lower()
    plural = {"networkpolicy": "networkpolicies"}.get(kind, f"{kind}s")
    return f"/{'apis' if '/' in version else 'api'}/{version}/namespaces/{NAMESPACE}/{plural}"


@pytest.mark.parametrize("most", [0, 4])
def test_the_deployers_own_rights_make_and_unmake_all_objects(deployer: Kubernetes, most: int) -> None:
    wanted = objects(group(NAME, most=most))
    for _ in range(2):
        made = [deployer.apply(each) for each in wanted]
    assert of_kind(made, "Deployment")["metadata"]["generation"] == 1
    for each in wanted:
        deployer.annotate(each, {OWNER: "stack/Source"})
        found = deployer.get(each)
        assert found is not None
        assert found["metadata"]["annotations"][OWNER] == "stack/Source"
    assert deployer.pods(NAMESPACE, {"app.kubernetes.io/instance": NAME}) == []
    while delete_all(deployer, wanted):
        # Foreground deletion waits for controllers, which don't run here.
        _finish(deployer, wanted)
    assert [deployer.get(each) for each in wanted] == [None] * len(wanted)


def _finish(api: Kubernetes, wanted: list[dict[str, Any]]) -> None:
    for each in wanted:
        if (found := api.get(each)) and found["metadata"].get("finalizers"):
            patch = {"metadata": {"finalizers": None}}
            path = f"{_collection(each)}/{each['metadata']['name']}"
            api._json("PATCH", path, patch, kind="application/merge-patch+json")


@pytest.mark.parametrize(
    ("user", "kind"),
    [("deployer", "secrets"), ("deployer", "roles"), ("watcher", "configmaps"), ("watcher", "secrets")],
)
def test_nobody_of_ours_reads_secrets_or_rights(server: Server, user: str, kind: str) -> None:
    group_of = "apis/rbac.authorization.k8s.io" if kind == "roles" else "api"
    with pytest.raises(KubernetesError) as refused:
        server.as_user(user)._json("GET", f"/{group_of}/v1/namespaces/{NAMESPACE}/{kind}")
    assert refused.value.status == FORBIDDEN


def test_the_deployer_does_nothing_elsewhere(deployer: Kubernetes) -> None:
    outside = of_kind(objects(group()), "ConfigMap") | {"metadata": {"name": "x", "namespace": "default"}}
    with pytest.raises(KubernetesError) as refused:
        deployer.apply(outside)
    assert refused.value.status == FORBIDDEN
    with pytest.raises(KubernetesError):
        deployer.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})


@pytest.mark.parametrize("user", ["deployer", "watcher"])
def test_the_proxy_is_open_to_those_who_need_it(server: Server, user: str) -> None:
    """No pod runs here: a missing answer means that authorization has passed."""
    server.as_user("deployer").apply(of_kind(objects(group("proxied")), "Service"))
    for method in ("GET", "POST") if user == "watcher" else ("GET", "PUT", "POST", "DELETE"):
        with pytest.raises(UnreachableError, match="no worker of proxied can be asked yet"):
            server.as_user(user).through_service(method, NAMESPACE, "proxied", "/connectors")
    if user == "watcher":
        with pytest.raises(KubernetesError):
            server.as_user(user).through_service("DELETE", NAMESPACE, "proxied", "/connectors/x")


def test_the_namespace_takes_the_workers_pods_and_no_others(server: Server) -> None:
    administrator, wanted = server.as_user("administrator"), objects(group("pods"))
    administrator.apply(of_kind(wanted, "ServiceAccount"))
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "one", "namespace": NAMESPACE},
        "spec": of_kind(wanted, "Deployment")["spec"]["template"]["spec"],
    }
    assert tried(administrator, pod) == ""
    for change in (
        set_to("spec", "securityContext", to={}),
        set_to("spec", "hostNetwork", to=True),
        set_to("spec", "containers", 0, "securityContext", "capabilities", to={"add": ["NET_ADMIN"]}),
    ):
        changed = copy.deepcopy(pod)
        change(changed)
        assert 'violates PodSecurity "restricted:latest"' in tried(administrator, changed)


REFUSED: dict[str, tuple[str, Callable[[Any], None], str]] = {
    "misspelt field": ("Deployment", set_to("spec", "replica", to=2), "field not declared in schema"),
    "wrong type": ("Deployment", set_to("spec", "replicas", to="two"), "expected numeric"),
    "other labels": ("Deployment", set_to("spec", "selector", "matchLabels", to={"a": "b"}), "does not match template"),
    "unit": ("Deployment", set_to(*WORKER, "resources", "limits", "memory", to="2Gib"), "quantities must match"),
    "no volume": ("Deployment", set_to(*WORKER, "volumeMounts", 0, "name", to="other"), "Not found"),
    "too much": ("Deployment", set_to(*WORKER, "resources", "requests", "memory", to="8Gi"), "must be less than or"),
    "port's name": ("Deployment", set_to(*WORKER, "ports", 0, "name", to="REST_PORT"), "must contain only alpha-num"),
    "root": ("Deployment", set_to(*POD, "securityContext", "runAsUser", to=-1), "must be between 0 and"),
    "both": ("PodDisruptionBudget", set_to("spec", "minAvailable", to=1), "cannot be both set"),
    "old version": ("HorizontalPodAutoscaler", set_to("apiVersion", to="autoscaling/v2beta2"), "could not find the r"),
    "fewest": ("HorizontalPodAutoscaler", set_to("spec", "minReplicas", to=9), "must be greater than or equal"),
    "address": (
        "NetworkPolicy",
        set_to("spec", "ingress", 0, "from", 1, "ipBlock", "cidr", to="10.0.0.0/99"),
        "Invalid value",
    ),
    "service's port": ("Service", set_to("spec", "ports", 0, "port", to=99_999), "must be between 1 and 65535"),
    "name": ("ServiceAccount", set_to("metadata", "name", to="A_B"), "lowercase RFC 1123"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_planted_fault_is_refused_with_its_reason(deployer: Kubernetes, name: str) -> None:
    kind, change, reason = REFUSED[name]
    planted = copy.deepcopy(of_kind(objects(group("faulty", most=4)), kind))
    change(planted)
    assert reason in tried(deployer, planted)
