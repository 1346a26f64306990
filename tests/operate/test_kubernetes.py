"""An environment's cluster: its API from an operator's machine, the printed objects, and the workers' image."""

import base64
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.client import BaseClient

from operate import connect_image
from operate.errors import OperateError
from operate.kubernetes import cluster_api, manifests, workers
from plugins.releases.versions import load_versions
from plugins.workers.kubernetes_api import Kubernetes
from settings.load import load
from tests.operate.conftest import without_credentials
from tests.stacks.environments import environment_on_eks
from tests.tls import Authority


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Mock:
    """The connection to the API, which answers with two pods."""
    without_credentials(monkeypatch, tmp_path)
    monkeypatch.delenv("AWS_REGION", raising=False)
    authority = base64.b64encode(Authority("EKS").root.encode()).decode()

    def describe(_client: BaseClient, operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
        assert (operation, parameters) == ("DescribeCluster", {"name": "dev-cdc-lake"})
        return {"cluster": {"endpoint": "https://x.eks.amazonaws.com", "certificateAuthority": {"data": authority}}}

    monkeypatch.setattr(BaseClient, "_make_api_call", describe)
    answer = Mock(status=200)
    answer.read.return_value = b'{"items":[{"metadata":{"name":"a-0"}},{"metadata":{"name":"a-1"}}]}'
    made = Mock()
    made.return_value.getresponse.return_value = answer
    monkeypatch.setattr("http.client.HTTPSConnection", made)
    return made


def test_a_connectors_workers_are_asked_for_with_the_callers_own_credentials(connection: Mock) -> None:
    session = boto3.Session(aws_access_key_id="AKIAEXAMPLE", aws_secret_access_key="x", region_name="us-east-1")
    api = cluster_api(session, load("dev"))
    assert isinstance(api, Kubernetes)
    assert workers(api, "dev-cdc-lake-orders-source") == ["a-0", "a-1"]
    assert connection.call_args.args[0] == "x.eks.amazonaws.com"
    [(method, path, _, headers)] = [call.args for call in connection.return_value.request.call_args_list]
    assert method == "GET"
    assert path.startswith("/api/v1/namespaces/kafka-connect/pods?labelSelector=")
    assert path.endswith("instance%3Ddev-cdc-lake-orders-source")
    encoded = headers["Authorization"].removeprefix("Bearer k8s-aws-v1.")
    url = urlsplit(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode())
    assert url.hostname == "sts.ap-southeast-2.amazonaws.com"
    assert "AKIAEXAMPLE" in url.query


def test_manifests_are_a_list_that_kubectl_reads(tmp_path: Path) -> None:
    request = {"Fn::Join": ["", ['{"objects":[{"kind":"ConfigMap","data":{"a":"', {"Ref": "Something"}, '"}}]}']]}
    resource = {"Type": "Custom::KubernetesConnector", "Properties": {"Request": request}}
    templates = {"dev-cdc-lake-connectors": {"Resources": {"A": resource}}}
    found = json.loads(manifests(environment_on_eks(tmp_path, "dev"), lambda _: templates))
    assert found["kind"] == "List"
    assert found["items"] == [{"kind": "ConfigMap", "data": {"a": "KNOWN-AT-DEPLOYMENT"}}]


def test_nothing_is_printed_where_connectors_run_elsewhere() -> None:
    with pytest.raises(OperateError, match="its connectors run on MSK Connect: nothing is put on Kubernetes"):
        manifests(load("dev"), lambda _: {})


@pytest.fixture
def pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All releases pinned, and downloads that are small archives; returns what was fetched."""
    versions, fetched = load_versions(), []
    pins: dict[str, Any] = {"size": 1, "sha256": "0" * 64}
    all_pinned = versions.model_copy(
        update={name: getattr(versions, name).model_copy(update=pins) for name in ("lenses_s3", "config_provider")}
    )

    def fetch(release: Mapping[str, Any], folder: Path) -> Path:
        target = folder / str(release["file"])
        fetched.append(target.name)
        with zipfile.ZipFile(target, "w") as archive:
            archive.writestr(f"{target.stem}.jar", target.name)
        return target

    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka" / "connect-runtime-3.9.1.jar").write_bytes(b"jar")
    monkeypatch.setattr(connect_image, "load_versions", lambda: all_pinned)
    monkeypatch.setattr(connect_image, "jar_folder", lambda name: tmp_path / name)
    monkeypatch.setattr(connect_image, "fetch", fetch)
    return fetched


def test_everything_is_put_together_and_the_lines_say_how_to_build_it(
    tmp_path: Path, pinned: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    # Debezium's is a tar.gz, unlike the archives here.
    monkeypatch.setattr(connect_image, "repack", _packed)
    connect_image.connect_image(said.append, target=tmp_path / "image")
    found = {str(path.relative_to(tmp_path / "image")) for path in (tmp_path / "image").rglob("*") if path.is_file()}
    assert "libs/connect-runtime-3.9.1.jar" in found
    assert "libs/aws-msk-iam-auth-2.3.2-all.jar" in found
    assert "libs/cdc-lake-worker.jar" in found
    assert {"plugins/source/one.jar", "plugins/sink/one.jar", "Dockerfile"} <= found
    assert not [name for name in found if ".work" in name]
    assert len(pinned) == 4
    assert f"docker build --platform linux/amd64 -t <repository>:<any tag> {tmp_path / 'image'}" in "\n".join(said)


def _packed(_archives: list[Path], target: Path, *, resources: Mapping[str, str] | None) -> None:
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("one.jar", str(sorted(resources or {})))


@pytest.mark.parametrize(
    "line",
    [
        *("FROM java:17", "FROM java:17@sha256:", f"FROM java@sha256:{'a' * 63}", "FROM ${BASE}", "from java:17"),
        f"FROM --platform=linux/amd64 java@sha256:{'a' * 64}\nFROM --platform=linux/amd64 java:17",
    ],
)
def test_a_base_without_a_digest_is_one_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "Dockerfile").write_text(f"# A base.\n{line}\nUSER 1\n")
    said = r"Dockerfile: FROM (java|\$\{BASE)\S* has no digest: write `@` and what `docker buildx"
    with pytest.raises(OperateError, match=said):
        connect_image.connect_image(print, target=tmp_path / "image", dockerfile=tmp_path / "Dockerfile")
    assert not (tmp_path / "image").exists()


def test_a_release_without_a_checksum_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = load_versions()
    unpinned = versions.lenses_s3.model_copy(update={"size": None, "sha256": None})
    monkeypatch.setattr(connect_image, "load_versions", lambda: versions.model_copy(update={"lenses_s3": unpinned}))
    with pytest.raises(OperateError, match=r"no SHA-256 for .*kafka-connect-aws-s3.*: run `./lake dev lock plugins`"):
        connect_image.connect_image(print, target=tmp_path / "image")
