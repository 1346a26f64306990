"""Objects and rights on a real Kubernetes API server: `./lake dev test kubernetes`, not part of `make test`.

The file's name isn't a test's, so pytest runs it only on request.
"""

import contextlib
import copy
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from contract.tags import OWNER
from local.services.processes import Command, Processes
from local.setup.ports import HOST, choose
from plugins.workers.kubernetes_api import Cluster, Kubernetes, KubernetesError, UnreachableError, _path, delete_all
from stacks.connectors.eks_cluster import DEPLOYERS, WATCHERS, shared_objects
from stacks.connectors.manifests import NAMESPACE, objects
from tests.kubernetes.command import binaries
from tests.stacks.connectors.test_manifests import of_kind, set_to
from tests.stacks.environments import group
from tests.tls import Authority

pytestmark = pytest.mark.integration

NAME = "dev-cdc-lake-orders-sink"
FORBIDDEN = 403
# A user of each group that access entries name.
ADMINISTRATORS = "system:masters"
USERS = {"administrator": ADMINISTRATORS, "deployer": DEPLOYERS, "watcher": WATCHERS}
HOST_NAME = "localhost"
START_S = 60


@dataclass(frozen=True)
class Server:
    """The server; `as_user` calls its API as one of USERS."""

    cluster: Cluster

    def as_user(self, name: str) -> Kubernetes:
        return Kubernetes(self.cluster, token=lambda: name)

    def ready(self) -> bool:
        """Whether it answers, and has created the namespace that everything needs."""
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}}
        with contextlib.suppress(UnreachableError, KubernetesError):
            return self.as_user("administrator").get(namespace) is not None
        return False


@contextlib.contextmanager
def running_server(folder: Path, programs: Mapping[str, Path]) -> Iterator[Server]:
    """Run etcd and the API server, with their files in `folder`, until the block ends."""
    ports = choose(["etcd", "peers", "api"], earlier={})
    authority = Authority("Kubernetes")
    authority.server(HOST_NAME, folder)
    server = Server(
        Cluster(
            name="local",
            endpoint=f"https://{HOST_NAME}:{ports['api']}",
            authority=b64encode(authority.root.encode()).decode(),
        )
    )
    processes = Processes(folder, folder / "logs")
    try:
        processes.start("etcd", _etcd(folder, programs["etcd"], ports))
        processes.start("kube-apiserver", _api(folder, programs["kube-apiserver"], ports))
        processes.wait_until("kube-apiserver", server.ready, timeout_s=START_S)
        yield server
    finally:
        processes.stop("kube-apiserver", grace_s=10)
        processes.stop("etcd", grace_s=10)


def _etcd(folder: Path, program: Path, ports: Mapping[str, int]) -> Command:
    clients, peers = (f"http://{HOST}:{ports[name]}" for name in ("etcd", "peers"))
    argv = [
        str(program),
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
        "--unsafe-no-fsync",
    ]
    return Command(argv=argv, folder=folder, environment={})


def _api(folder: Path, program: Path, ports: Mapping[str, int]) -> Command:
    key, tokens, certificate = folder / "accounts.pem", folder / "tokens.csv", folder / f"{HOST_NAME}.pem"
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    key.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    tokens.write_text("".join(f'{name},{name},{name},"{group}"\n' for name, group in USERS.items()))
    argv = [
        str(program),
        f"--etcd-servers=http://{HOST}:{ports['etcd']}",
        f"--bind-address={HOST}",
        f"--secure-port={ports['api']}",
        f"--tls-cert-file={certificate}",
        f"--tls-private-key-file={certificate}",
        f"--token-auth-file={tokens}",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
    ]
    return Command(argv=argv, folder=folder, environment={})


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
    path = f"{_path(wanted)}?fieldManager=try&force=true&dryRun=All"
    try:
        api._json("PATCH", path, wanted, kind="application/apply-patch+yaml")
    except KubernetesError as error:
        return error.reason
    return ""


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
            api._json("PATCH", _path(each), patch, kind="application/merge-patch+json")


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


# One of each kind: of the schema, of a rule between fields, of the API's version.
REFUSED: dict[str, tuple[str, Callable[[Any], None], str]] = {
    "misspelt field": ("Deployment", set_to("spec", "replica", to=2), "field not declared in schema"),
    "other labels": ("Deployment", set_to("spec", "selector", "matchLabels", to={"a": "b"}), "does not match template"),
    "old version": ("HorizontalPodAutoscaler", set_to("apiVersion", to="autoscaling/v2beta2"), "could not find the r"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_planted_fault_is_refused_with_its_reason(deployer: Kubernetes, name: str) -> None:
    kind, change, reason = REFUSED[name]
    planted = copy.deepcopy(of_kind(objects(group("faulty", most=4)), kind))
    change(planted)
    assert reason in tried(deployer, planted)
