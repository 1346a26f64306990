"""Each kind of resource with a life cycle: its requests, and its contents in its service."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from contract.lake import STOP_FILE
from contract.tags import FORMER_OWNER, OWNER
from stacks.handlers import connector, connector_plugin, emr_step, kubernetes_connector
from tests.plugins.releases.server import Server, body
from tests.stacks.handlers.cloudformation import Stack, World
from tests.stacks.handlers.emr_step.cluster import Cluster
from tests.stacks.handlers.kubernetes.cluster import FakeCluster, eks_request, image_of
from tests.stacks.handlers.msk_connect.requests import (
    NAME,
    RELEASES,
    configuration,
    connector_request,
    make_bucket,
    plugin_request,
    provisioned,
    stored,
)
from tests.stacks.handlers.msk_connect.service import KafkaConnect
from tests.stacks.handlers.provider_framework import Payload


@dataclass(kw_only=True)
class Kind:
    """A kind of resource.

    `changes` are requests after `wanted`, by what they change. `there` lists the service's resources, in the words of
    `as_wanted`. `identity` distinguishes two resources with the same words. `busy_until` makes its service refuse to
    answer, `end_next` sets the outcome of the next creating call. `owners` lists each resource's owner; `leftovers` are
    other remains.
    """

    world: World
    handler: ModuleType
    wanted: Payload
    changes: dict[str, Payload]
    there: Callable[[], list[Any]]
    as_wanted: Callable[[Payload], list[Any]]
    identity: Callable[[], Any]
    busy_until: Callable[[float], None]
    end_next: Callable[[str], None]
    owners: Callable[[], list[str]]
    leftovers: Callable[[], set[str]] = set

    def stack(self) -> Stack:
        return Stack(self.world, self.handler, wanted=self.wanted)

    def assert_as(self, request: Payload) -> None:
        """The wanted resource exists, once."""
        assert self.there() == self.as_wanted(request)

    def assert_gone(self) -> None:
        """Nothing exists, and nothing will."""
        self.world.drain()
        assert self.there() == []
        assert self.leftovers() == set()


def _owner(tags: dict[str, str]) -> str:
    """A resource's owner, and its predecessor: CloudFormation may delete either."""
    return " from ".join(tags[key] for key in (OWNER, FORMER_OWNER) if key in tags)


def connector_kind(world: World, connect: KafkaConnect, *, list_lag: float = 0) -> Kind:
    """A connector of MSK Connect, where every operation takes minutes."""
    wanted = connector_request(connect)
    connect.ticks_needed, connect.list_lag = 4, list_lag
    shown = ("connectorName", "connectorConfiguration", "capacity", "kafkaConnectVersion")

    def as_wanted(request: Payload) -> list[Any]:
        return [{key: request[key] for key in shown} | {"connectorState": "RUNNING"}]

    def there() -> list[Any]:
        found = connect.connectors.values()
        return [{key: each[key] for key in (*shown, "connectorState")} for each in found]

    return Kind(
        world=world,
        handler=connector,
        wanted=wanted,
        changes={
            "settings": {**wanted, "capacity": provisioned(3)},
            "both": {**configuration(wanted, a="b"), "capacity": provisioned(3)},
            "recreated": {**wanted, "kafkaConnectVersion": "2.7.1"},
        },
        there=there,
        as_wanted=as_wanted,
        identity=lambda: sorted(connect.connectors),
        busy_until=lambda until: connect.throttled_until.update(kafkaconnect=until),
        end_next=lambda fault: connect.faults.update(CreateConnector=[fault], UpdateConnector=[fault]),
        owners=lambda: [_owner(connect.tags[arn]) for arn in connect.connectors],
    )


def plugin_kind(world: World, connect: KafkaConnect, server: Server, *, list_lag: float = 0) -> Kind:
    """A plugin of MSK Connect and its zip; the server has its releases."""
    server.answers = {f"/{name}.zip": [body(content)] for name, content in RELEASES.items()}
    make_bucket()
    connect.ticks_needed, connect.list_lag = 3, list_lag

    def as_wanted(request: Payload) -> list[Any]:
        return [(connector_plugin._name(request), "ACTIVE")]

    def there() -> list[Any]:
        assert stored() == {f"plugins/{each['name']}.zip" for each in connect.plugins.values()}
        return [(each["name"], each["customPluginState"]) for each in connect.plugins.values()]

    return Kind(
        world=world,
        handler=connector_plugin,
        wanted=plugin_request(server, "one"),
        changes={"content": plugin_request(server, "two")},
        there=there,
        as_wanted=as_wanted,
        identity=lambda: sorted(connect.plugins),
        busy_until=lambda until: connect.throttled_until.update(kafkaconnect=until),
        end_next=lambda fault: connect.faults.update(CreateCustomPlugin=[fault]),
        owners=lambda: [_owner(connect.tags[arn]) for arn in connect.plugins],
        leftovers=stored,
    )


def step_kind(world: World, cluster: Cluster) -> Kind:
    """A streaming job that runs as a step of an EMR cluster."""
    wanted = cluster.wanted("--op", "UPSERT")

    def commands(request: Payload) -> list[list[str]]:
        return [request["arguments"], *(step["arguments"] for step in request.get("further", []))]

    def running() -> list[Any]:
        return [step for step in cluster.steps if step.state == "RUNNING"]

    other = cluster.wanted(name="dev-cdc-lake-shop_items")
    return Kind(
        world=world,
        handler=emr_step,
        wanted=wanted,
        changes={
            "arguments": cluster.wanted("--op", "INSERT"),
            "names": cluster.wanted("--op", "UPSERT", name="dev-cdc-lake-shop_orders")
            | {"further": [{"name": other["name"], "arguments": other["arguments"]}]},
        },
        there=lambda: [[*step.args[:-1], f"stop.file={STOP_FILE}"] for step in running()],
        as_wanted=commands,
        identity=lambda: [step.id for step in running()],
        busy_until=lambda until: cluster.account.throttled_until.update(emr=until),
        end_next=lambda fault: cluster.account.faults.update(AddJobFlowSteps=[fault]),
        owners=lambda: _owners(cluster.account.keys("stop/owners/")),
        leftovers=lambda: cluster.account.keys("stop/owners/"),
    )


def _owners(keys: set[str]) -> list[str]:
    names = ("dev-cdc-lake-connectors/Source", "dev-cdc-lake-connectors/Renamed")
    hashes = {hashlib.sha256(name.encode()).hexdigest(): name for name in names}
    found = [key.rpartition("/")[2] for key in keys]
    return [name for digest, name in hashes.items() for digits in found if digest.startswith(digits)]


def eks_kind(world: World, cluster: FakeCluster) -> Kind:
    """A connector on our own workers on EKS."""

    def deployments() -> list[Any]:
        return [each for each in cluster.objects.values() if each["kind"] == "Deployment"]

    def as_wanted(request: Payload) -> list[Any]:
        [deployment] = [each for each in request["objects"] if each["kind"] == "Deployment"]
        return [({**request["connectorConfiguration"], "name": NAME}, image_of(deployment))]

    return Kind(
        world=world,
        handler=kubernetes_connector,
        wanted=eks_request(),
        changes={"configuration": eks_request(a="b"), "image": eks_request(image=f"other@sha256:{'1' * 64}", a="b")},
        there=lambda: [(cluster.connectors.get(NAME), image_of(each)) for each in deployments()],
        as_wanted=as_wanted,
        identity=lambda: sorted(cluster.objects),
        busy_until=lambda until: setattr(cluster, "away_until", until),
        end_next=lambda fault: setattr(cluster, "fault", fault),
        owners=lambda: [_owner(each["metadata"]["annotations"]) for each in deployments()],
        leftovers=lambda: {name for _, _, name in cluster.objects} | set(cluster.connectors),
    )
