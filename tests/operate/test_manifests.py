"""The printed objects of connectors on EKS."""

import json
from pathlib import Path

import pytest

from operate.errors import OperateError
from operate.kubernetes import manifests
from settings.load import load
from tests.stacks.connectors.environments import environment_on_eks


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
