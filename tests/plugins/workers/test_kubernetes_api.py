"""Calls of an EKS cluster's API: the token that identifies us, and the meaning of an answer."""

import base64
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from plugins.workers.kubernetes_api import Cluster, Kubernetes, KubernetesError, UnreachableError, signed_token


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {"ACCESS_KEY_ID": "AKIAEXAMPLE", "SECRET_ACCESS_KEY": "secret", "SESSION_TOKEN": "session"}
    for name, value in (secrets | {"REGION": "ap-southeast-2"}).items():
        monkeypatch.setenv(f"AWS_{name}", value)


def test_the_token_is_a_signed_request_for_this_cluster_alone() -> None:
    made = signed_token("dev-cdc-lake")
    prefix, _, encoded = made.partition(".")
    assert prefix == "k8s-aws-v1"
    url = urlsplit(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode())
    query = parse_qs(url.query)
    assert (url.scheme, url.hostname) == ("https", "sts.ap-southeast-2.amazonaws.com")
    assert query["Action"] == ["GetCallerIdentity"]
    assert query["X-Amz-SignedHeaders"] == ["host;x-k8s-aws-id"]
    assert query["X-Amz-Expires"] == ["60"]
    assert "secret" not in url.query


def answering(monkeypatch: pytest.MonkeyPatch, status: int, answer: bytes) -> Kubernetes:
    def asked(*_: Any, **__: Any) -> tuple[int, bytes]:
        return status, answer

    monkeypatch.setattr(Kubernetes, "_request", asked)
    return Kubernetes(Cluster(name="x", endpoint="https://x", authority=""), token=lambda: "t")


OBJECT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}}


@pytest.mark.parametrize(
    ("status", "said", "error"),
    [
        *((status, "busy", UnreachableError) for status in (409, 429, 500, 503)),
        # A real server's answer: tests/kubernetes/api_server.py.
        (500, "failed to create typed patch object: field not declared", KubernetesError),
    ],
)
def test_what_passes_is_worth_asking_again_and_an_object_that_no_server_takes_is_not(
    monkeypatch: pytest.MonkeyPatch, status: int, said: str, error: type[Exception]
) -> None:
    answer = f'{{"kind":"Status","message":"{said}"}}'
    with pytest.raises(error, match=f"{status}: {said}"):
        answering(monkeypatch, status, answer.encode()).apply(OBJECT)


NO_WORKER = "no worker of x can be asked yet"


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (b'{"error_code":404,"message":"Connector x not found"}', KubernetesError, "404: Connector x not found$"),
        # A worker's server's answer before its resources exist.
        (b"<html>Not Found</html>", UnreachableError, NO_WORKER),
        (b'{"kind":"Status","message":"endpoints \\"x\\" not found"}', UnreachableError, NO_WORKER),
    ],
)
def test_no_connector_is_told_from_no_worker(
    monkeypatch: pytest.MonkeyPatch, answer: bytes, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        answering(monkeypatch, 404, answer).through_service("GET", "n", "x", "/connectors/x")


def test_a_refusal_is_not_taken_for_a_pods_log(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KubernetesError, match="GET /api/v1/namespaces/n/pods/p/log: 403: forbidden"):
        answering(monkeypatch, 403, b'{"kind":"Status","message":"forbidden"}').log("n", "p", lines=2)
    assert answering(monkeypatch, 200, b'{"level":"ERROR"}').log("n", "p", lines=2) == '{"level":"ERROR"}'


def test_what_is_gone_is_none_and_nothing_to_delete(monkeypatch: pytest.MonkeyPatch) -> None:
    api = answering(monkeypatch, 404, b'{"kind":"Status","message":"not found"}')
    assert api.get(OBJECT) is None
    assert api.delete(OBJECT) is False


def test_a_worker_whose_tasks_have_failed_still_says_its_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answering(monkeypatch, 503, b'{"x":{"a":1}}').through_pod("n", "p", 8083, "/y") == {"x": {"a": 1}}
    with pytest.raises(UnreachableError):
        answering(monkeypatch, 503, b"no endpoints").through_pod("n", "p", 8083, "/y")
