"""A connector's Kubernetes objects, without a cluster: each valid by its schema, and consistent together."""

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import kubernetes_validate
import pytest

from contract.text import UTF_8_FLAG
from settings.aws_offers import EKS_VERSIONS
from settings.environment import Environment
from stacks.connectors.eks_cluster import shared_objects
from stacks.connectors.manifests import WorkerGroup, objects
from stacks.gate.manifests import objects_together
from stacks.gate.properties import known_objects
from stacks.gate.template import App
from tests.stacks.environments import environment_on_eks, group

Objects = list[dict[str, Any]]


@pytest.fixture(scope="module")
def on_eks(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return environment_on_eks(tmp_path_factory.mktemp("eks"), "dev")


def problems(environment: Environment, type_: str, found: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the gate says of the objects in a request."""
    properties = {"Request": json.dumps({"objects": found})}
    templates = {"s": {"Resources": {"R": {"Type": type_, "Properties": properties}}}}
    [subject] = App(settings=environment, templates=templates).subjects
    return [*known_objects(subject), *objects_together(subject)]


def of_kind(found: Objects, kind: str) -> Any:
    [one] = [each for each in found if each["kind"] == kind]
    return one


@pytest.mark.parametrize("version", EKS_VERSIONS)
def test_every_object_is_as_kubernetes_has_it(version: str) -> None:
    for each in (*shared_objects(), *objects(group(most=4))):
        kubernetes_validate.validate(each, version, strict=True)


@pytest.mark.parametrize("most", [0, 4])
def test_nothing_is_wrong_with_them_together(on_eks: Environment, most: int) -> None:
    assert problems(on_eks, "Custom::KubernetesConnector", objects(group(most=most))) == []
    assert problems(on_eks, "Custom::KubernetesObjects", shared_objects()) == []


def test_what_a_worker_reads_is_another_configmap_when_it_changes() -> None:
    def name(of: WorkerGroup) -> str:
        volumes = of_kind(objects(of), "Deployment")["spec"]["template"]["spec"]["volumes"]
        configuration = of_kind(objects(of), "ConfigMap")
        assert configuration["immutable"]
        assert volumes[0]["configMap"]["name"] == configuration["metadata"]["name"]
        return str(configuration["metadata"]["name"])

    changed = WorkerGroup(**{**vars(group()), "properties": {"a": "b"}})
    assert name(group()) == name(group())
    assert name(group()) != name(changed)


def test_an_autoscaler_says_how_many_alone() -> None:
    assert of_kind(objects(group()), "Deployment")["spec"]["replicas"] == 2
    scaled = objects(group(most=4))
    assert "replicas" not in of_kind(scaled, "Deployment")["spec"]
    assert of_kind(scaled, "HorizontalPodAutoscaler")["spec"]["maxReplicas"] == 4


def test_a_rolling_change_starts_before_it_stops_and_stops_at_failed_tasks() -> None:
    spec = of_kind(objects(group()), "Deployment")["spec"]
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    [worker] = spec["template"]["spec"]["containers"]
    assert worker["readinessProbe"]["httpGet"]["path"] == "/cdc-lake/tasks"
    assert worker["livenessProbe"]["httpGet"]["path"] == "/health"


def test_a_worker_writes_and_names_files_in_utf_8() -> None:
    [worker] = of_kind(objects(group()), "Deployment")["spec"]["template"]["spec"]["containers"]
    assert UTF_8_FLAG in worker["command"]
    assert {"name": "LC_ALL", "value": "C.UTF-8"} in worker["env"]


def set_to(*path: Any, to: Any) -> Callable[[Any], None]:
    def change(each: Any) -> None:
        for key in path[:-1]:
            each = each[key]
        each[path[-1]] = to

    return change


POD = ("spec", "template", "spec")
WORKER = (*POD, "containers", 0)
# Those that tests/stacks/gate/mutations.tsv has not.
FAULTS: dict[str, tuple[str, Callable[[Any], None], str]] = {
    "volume": ("Deployment", set_to(*WORKER, "volumeMounts", 0, "name", to="other"), "volumeMounts/*/name is other"),
    "writable": ("Deployment", set_to(*WORKER, "securityContext", to={}), "readOnlyRootFilesystem is missing"),
    "probe": ("Deployment", set_to(*WORKER, "readinessProbe", to={}), "readinessProbe is missing"),
    "one worker": ("Deployment", set_to("spec", "replicas", to=1), "spec/replicas is 1"),
    "one zone": ("Deployment", set_to(*POD, "topologySpreadConstraints", to=[]), "topologyKey is missing"),
    "budget of others": ("PodDisruptionBudget", set_to("spec", "selector", to={}), "has no PodDisruptionBudget"),
    "service's port": ("Service", set_to("spec", "ports", 0, "targetPort", to="http"), "targetPort is http"),
    "budget": ("PodDisruptionBudget", set_to("spec", "minAvailable", to=1), "spec/minAvailable isn't in"),
    "no drain": ("PodDisruptionBudget", set_to("spec", "maxUnavailable", to=0), "spec/maxUnavailable is 0"),
    "failed workers": (
        "PodDisruptionBudget",
        set_to("spec", "unhealthyPodEvictionPolicy", to="IfHealthyBudget"),
        "unhealthyPodEvictionPolicy is IfHealthyBudget",
    ),
    "another kind": ("ServiceAccount", set_to("kind", to="DaemonSet"), "no rules for kubernetes/DaemonSet"),
}


@pytest.mark.parametrize(("kind", "change", "reason"), FAULTS.values(), ids=FAULTS)
def test_what_the_api_would_accept_is_refused(
    on_eks: Environment, kind: str, change: Callable[[Any], None], reason: str
) -> None:
    changed = copy.deepcopy(objects(group()))
    change(of_kind(changed, kind))
    assert reason in "\n".join(problems(on_eks, "Custom::KubernetesConnector", changed))
