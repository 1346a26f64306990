"""How an operator's machine finds an environment's cluster API, and authenticates."""

import base64
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.client import BaseClient

from operate.kubernetes import cluster_api, workers
from plugins.workers.kubernetes_api import Kubernetes
from settings.load import load
from tests.operate.test_outputs import without_credentials
from tests.tls import Authority


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """The requests to the API; it answers with two pods."""
    without_credentials(monkeypatch, tmp_path)
    monkeypatch.delenv("AWS_REGION", raising=False)
    authority = base64.b64encode(Authority("EKS").root.encode()).decode()

    def describe(_client: BaseClient, operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
        assert (operation, parameters) == ("DescribeCluster", {"name": "dev-cdc-lake"})
        return {"cluster": {"endpoint": "https://x.eks.amazonaws.com", "certificateAuthority": {"data": authority}}}

    monkeypatch.setattr(BaseClient, "_make_api_call", describe)
    requests: list[Any] = []

    class Connection:
        status = 200

        def __init__(self, host: str, _port: int | None, **_: Any) -> None:
            self._host = host

        def request(self, method: str, path: str, _content: bytes | None, headers: dict[str, str]) -> None:
            requests.append((method, self._host, path, headers["Authorization"]))

        def getresponse(self) -> "Connection":
            return self

        def read(self) -> bytes:
            return b'{"items":[{"metadata":{"name":"a-0"}},{"metadata":{"name":"a-1"}}]}'

        def close(self) -> None:
            return None

    monkeypatch.setattr("http.client.HTTPSConnection", Connection)
    return requests


def test_a_connectors_workers_are_asked_for_with_the_callers_own_credentials(asked: list[Any]) -> None:
    session = boto3.Session(aws_access_key_id="AKIAEXAMPLE", aws_secret_access_key="x", region_name="us-east-1")
    api = cluster_api(session, load("dev"))
    assert isinstance(api, Kubernetes)
    assert workers(api, "dev-cdc-lake-orders-source") == ["a-0", "a-1"]
    [(method, host, path, authorization)] = asked
    assert (method, host) == ("GET", "x.eks.amazonaws.com")
    assert path.startswith("/api/v1/namespaces/kafka-connect/pods?labelSelector=")
    assert path.endswith("instance%3Ddev-cdc-lake-orders-source")
    encoded = authorization.removeprefix("Bearer k8s-aws-v1.")
    url = urlsplit(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode())
    assert url.hostname == "sts.ap-southeast-2.amazonaws.com"
    assert "AKIAEXAMPLE" in url.query
