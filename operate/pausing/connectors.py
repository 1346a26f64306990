"""What a pause needs of an environment's connectors, on MSK Connect or on EKS."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import boto3

from operate.errors import OperateError
from operate.kubernetes import cluster_api, workers
from operate.outputs import QUICK
from operate.pausing.arrival import Metric, newest
from operate.pausing.waiting import Waiter
from plugins.source.source_connector import not_following_slot
from plugins.workers import connect_workers
from plugins.workers.connect_workers import DIMENSION, FOLLOWS_SLOT, RUNNING
from plugins.workers.kubernetes_api import KubernetesError, UnreachableError
from settings.connectors import source_settings
from settings.environment import Environment
from settings.environment_pipeline import FIRST
from stacks.connectors.manifests import NAMESPACE

if TYPE_CHECKING:
    from mypy_boto3_kafkaconnect.type_defs import ConnectorSummaryTypeDef

_CHANGING = frozenset({"CREATING", "UPDATING", "RESTARTING"})
# Metrics come every minute (stacks/handlers/kubernetes_watch.py) and arrive some minutes later.
LATE = timedelta(minutes=5)
_CONNECTOR = "Custom::KubernetesConnector"
_GONE, _GOING = "DELETE_COMPLETE", "DELETE_IN_PROGRESS"
# Auto Mode removes a node some minutes after its last pod.
NODES_LIMIT_S = 900.0
# The tag that Auto Mode puts on its instances (EKS user guide, "AWS managed policies": AmazonEKSComputePolicy).
_CLUSTER_TAG = "tag:eks:eks-cluster-name"
_PAID = ["pending", "running"]


class _Connectors:
    """An environment's connectors. Methods raise OperateError, and botocore's errors."""

    def __init__(self, session: boto3.Session, environment: Environment, waiter: Waiter) -> None:
        self._session = session
        self._environment = environment
        self._waiter = waiter
        self._pipelines = {source_settings(environment, each).name: each.name for each in environment.streamed}
        self.sources = [*self._pipelines]

    def repair(self, source: str) -> str:
        """Return the command that ends a re-snapshot with this source."""
        of = "" if (pipeline := self._pipelines[source]) == FIRST else f" -p {pipeline}"
        return f"`./lake resnapshot -e {self._environment.name}{of}`"

    def objections(self) -> Iterator[str]:
        """Say what can't be known of the connectors; nothing by default."""
        yield from ()


class OnMskConnect(_Connectors):
    """Connectors on MSK Connect, whose API shows everything."""

    def check_no_repair(self) -> None:
        """Raise OperateError while a source is being changed, or `./lake resnapshot` makes it follow its slot."""
        client = self._session.client("kafkaconnect", config=QUICK)
        for connector in self._found(self.sources):
            name, state = connector["connectorName"], connector["connectorState"]
            if state in _CHANGING:
                raise OperateError(f"the connector {name} is {state}: wait until that has ended, then run this again")
            arn = connector["connectorArn"]
            found = client.describe_connector(connectorArn=arn)["connectorConfiguration"]
            if found != not_following_slot(found):
                raise OperateError(
                    f"a re-snapshot with {name} is under way, or was broken off: let {self.repair(name)} end, then run"
                    " this again"
                )

    def check_gone(self, names: Sequence[str]) -> None:
        """Check that no connector of these names exists. Raises OperateError for one that remains."""

        def going() -> Iterator[str]:
            for connector in self._found(names):
                if connector["connectorState"] != "DELETING":
                    raise OperateError(
                        f"the connector {connector['connectorName']} is {connector['connectorState']}: CloudFormation "
                        "couldn't delete it (its events say why) and no longer knows it: `aws kafkaconnect "
                        f"delete-connector --connector-arn {connector['connectorArn']}`, which loses neither slot nor "
                        "offsets; then run this again"
                    )
                yield connector["connectorName"]

        self._waiter.wait_gone(going)

    def _found(self, names: Sequence[str]) -> Iterator["ConnectorSummaryTypeDef"]:
        paginator = self._session.client("kafkaconnect", config=QUICK).get_paginator("list_connectors")
        for page in paginator.paginate(connectorNamePrefix=self._environment.prefix):
            yield from (each for each in page.get("connectors", []) if each["connectorName"] in names)


class OnEks(_Connectors):
    """Connectors on EKS, judged by CloudFormation and CloudWatch, and their nodes.

    The cluster's API is usually reachable only inside the VPC. It is queried about a connector only if CloudFormation
    couldn't delete it: removing it by hand needs the same access.
    """

    def check_no_repair(self) -> None:
        """Raise OperateError while a source follows its slot for a re-snapshot, or did so minutes ago."""
        if names := sorted(self._figures(FOLLOWS_SLOT)):
            raise OperateError(
                f"a re-snapshot with {', '.join(names)} is under way, was broken off, or ended in these last "
                f"{LATE.seconds // 60} minutes: let {', '.join(map(self.repair, names))} end, then this again"
            )

    def objections(self) -> Iterator[str]:
        """Name the sources without metrics: a pause would lose track of an interrupted re-snapshot of theirs."""
        if silent := sorted(set(self.sources) - self._figures(RUNNING)):
            yield (
                f"{', '.join(silent)} had no figures in the last {LATE.seconds // 60} minutes, so whether a re-snapshot"
                " with it was broken off isn't known (docs/aws/alarms.md#connector-not-running)"
            )

    def check_gone(self, names: Sequence[str]) -> None:
        """Check that no connector of these names exists. Raises OperateError for one that remains."""

        def going() -> list[str]:
            statuses = self._last_statuses(names)
            left = [name for name, status in statuses.items() if status == _GOING]
            for name, status in sorted(statuses.items()):
                if not left and status != _GONE:
                    self._check_no_workers(name)
            return left

        self._waiter.wait_gone(going)

    def _figures(self, name: str) -> set[str]:
        namespace = connect_workers.namespace(self._environment.prefix)
        metrics = [Metric(source, namespace, name, {DIMENSION: source}) for source in self.sources]
        client = self._session.client("cloudwatch", config=QUICK)
        return {metric.what for metric, figure in newest(client, metrics, self._waiter.now(), LATE) if figure}

    def _last_statuses(self, names: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        client = self._session.client("cloudformation", config=QUICK)
        stack = f"{self._environment.prefix}-connectors"
        for page in client.get_paginator("describe_stack_events").paginate(StackName=stack):
            for event in page["StackEvents"]:
                name = event.get("PhysicalResourceId", "")
                if event.get("ResourceType") == _CONNECTOR and name in names:
                    found.setdefault(name, event.get("ResourceStatus", ""))
            if len(found) == len(names):
                break
        return found

    def _check_no_workers(self, name: str) -> None:
        """Raise OperateError if a connector that CloudFormation gave up on still has workers, or if that is unknown."""
        mend = (
            f"`kubectl -n {NAMESPACE} delete deployment {name}`, which loses neither slot nor offsets; then "
            "this again, from where the cluster's API is reached"
        )
        let_go = f"CloudFormation couldn't delete the connector {name} (its events say why) and no longer knows it"
        try:
            pods = workers(cluster_api(self._session, self._environment), name)
        except (KubernetesError, UnreachableError) as error:
            raise OperateError(f"{let_go}, and whether its workers run can't be asked: {error}: {mend}") from None
        if pods:
            raise OperateError(f"{let_go}, and {', '.join(pods)} run: {mend}")


def say_nodes(session: boto3.Session, environment: Environment, waiter: Waiter) -> None:
    """Wait until the nodes are gone, within a limit, and name those that still cost; they lose nothing."""
    client = session.client("ec2", config=QUICK)

    def look() -> str | None:
        filters: Any = [
            {"Name": _CLUSTER_TAG, "Values": [environment.prefix]},
            {"Name": "instance-state-name", "Values": _PAID},
        ]
        pages = client.get_paginator("describe_instances").paginate(Filters=filters, IncludeManagedResources=True)
        found = [each["InstanceId"] for page in pages for one in page["Reservations"] for each in one["Instances"]]
        return f"the end of the nodes {', '.join(sorted(found))}" if found else None

    if left := waiter.wait(look, limit_s=NODES_LIMIT_S):
        waiter.say(
            f"  after {NODES_LIMIT_S / 60:.0f} minutes still waiting for {left}, which are paid for: `kubectl get "
            "pods -A -o wide` says whose pods keep them"
        )


def of_environment(session: boto3.Session, environment: Environment, waiter: Waiter) -> OnEks | OnMskConnect:
    return (OnMskConnect if environment.eks is None else OnEks)(session, environment, waiter)
