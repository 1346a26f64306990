"""What commands know of connectors on EKS, and what is printed of them."""

import json
from pathlib import Path

import pytest

from operate.errors import OperateError
from operate.manifests import manifests
from operate.platforms import need_msk_connect
from settings.load import load
from tests.stacks.kubernetes.environments import environment_on_eks


def test_a_command_that_knows_msk_connect_alone_says_so(tmp_path: Path) -> None:
    need_msk_connect(load("dev"), "pause")
    with pytest.raises(OperateError, match="`make pause` knows connectors on MSK Connect, and dev's run on EKS"):
        need_msk_connect(environment_on_eks(tmp_path, "dev"), "pause")


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
