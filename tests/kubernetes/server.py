"""A Kubernetes API server on loopback, with users of the groups that access entries name."""

import contextlib
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from local.services.processes import Command, Processes
from local.setup.ports import HOST, choose
from plugins.workers.kubernetes_api import Cluster, Kubernetes, KubernetesError, UnreachableError
from stacks.connectors.eks_cluster import DEPLOYERS, WATCHERS
from tests.tls import Authority

ADMINISTRATORS = "system:masters"
USERS = {"administrator": ADMINISTRATORS, "deployer": DEPLOYERS, "watcher": WATCHERS}
NAME = "localhost"
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
    authority.server(NAME, folder)
    server = Server(
        Cluster(
            name="local",
            endpoint=f"https://{NAME}:{ports['api']}",
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
    key, tokens, certificate = folder / "accounts.pem", folder / "tokens.csv", folder / f"{NAME}.pem"
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
