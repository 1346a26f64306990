"""A fake environment on AWS for a pause: its stacks, connectors, EMR, Aurora, metrics and alarms.

It replaces botocore's calls: requests and answers are checked against botocore's models. `deploy` replaces CDK's
command line: it changes the parts as CloudFormation would with the given template.
"""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore import xform_name
from botocore.client import BaseClient
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator

from operate.errors import OperateError
from operate.pausing.waiting import LOOK_S, Waiter
from plugins.connector_names import sink_group
from settings.connectors import sink_settings, source_settings
from settings.environment import Environment
from stacks.paused import OUTPUT, Paused

STACKS = (
    *("guard", "network", "vpn", "database", "streaming"),
    *("lake", "connectors", "processing", "analytics", "monitoring"),
)
CONNECTORS = ("Custom::Connector", "Custom::KubernetesConnector")
Asked = dict[str, Any]
EPOCH = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
# Delay of a minute's metrics.
LATE = 2 * MINUTE


def error(code: str, operation: str, status: int = 400) -> ClientError:
    answer: Any = {"Error": {"Code": code, "Message": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, operation)


def templates(environment: Environment) -> dict[Paused, dict[str, Any]]:
    """Templates by stack that hold only what a pause leaves out; tests/stacks/test_paused.py has the real ones."""
    connector = CONNECTORS[environment.eks is not None]
    stoppable = {
        "connectors": {"Source": connector, "Sink": connector},
        "kubernetes": {"Addon": "AWS::EKS::Addon"},
        "processing": {"Cluster": "AWS::EMR::Cluster"},
    }
    stacks = STACKS if environment.eks is None else (*STACKS, "kubernetes")
    gone = {Paused.NOTHING: (), Paused.SOURCES: ("Source",), Paused.ALL: ("Source", "Sink", "Addon", "Cluster")}
    return {
        paused: {
            f"{environment.prefix}-{stack}": {
                "Resources": {
                    id_: {"Type": type_} for id_, type_ in stoppable.get(stack, {}).items() if id_ not in gone[paused]
                }
            }
            for stack in stacks
        }
        for paused in Paused
    }


@dataclass
class Cloud:
    """A fake AWS account; `log` records calls in order; `faults` are raised instead of answers.

    With connectors on EKS, `nodes` are instances, `follows` sources whose re-snapshot uses the slot as authority,
    `silent` those without published metrics. `endings`: CloudFormation's events of connectors. `broken_off_after`: the
    calls after which Ctrl-C comes.
    """

    environment: Environment
    status: dict[str, str] = field(default_factory=dict)
    paused: dict[str, Paused] = field(default_factory=dict)
    database: str = "available"
    writer_ready_at: datetime = EPOCH
    connectors: dict[str, str] = field(default_factory=dict)
    configurations: dict[str, dict[str, str]] = field(default_factory=dict)
    clusters: dict[str, str] = field(default_factory=lambda: {"j-1": "RUNNING"})
    alarms: list[str] = field(default_factory=list)
    waiting: float = 0.0
    landed_at: datetime = EPOCH
    job_runs: bool = True
    changed: set[str] = field(default_factory=set)
    keeps: set[str] = field(default_factory=set)
    nodes: list[str] = field(default_factory=list)
    follows: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    endings: dict[str, str] = field(default_factory=dict)
    cdk_status: dict[str, int] = field(default_factory=dict)
    faults: dict[str, list[BaseException]] = field(default_factory=dict)
    broken_off_after: int | None = None
    may_resume: bool = False
    log: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    now: datetime = EPOCH

    def __post_init__(self) -> None:
        self.templates = templates(self.environment)
        names = (name.removeprefix(f"{self.environment.prefix}-") for name in self.templates[Paused.NOTHING])
        self.status = dict.fromkeys(names, "UPDATE_COMPLETE")
        self._make_connectors()
        if self.environment.eks is not None:
            self.nodes = ["i-1", "i-2"]

    @property
    def waiter(self) -> Waiter:
        return Waiter(self.said.append, self._sleep, lambda: (self.now - EPOCH).total_seconds(), lambda: self.now)

    def names(self, role: str) -> list[str]:
        settings: Any = source_settings if role == "source" else sink_settings
        return [settings(self.environment, pipeline).name for pipeline in self.environment.pipelines]

    @property
    def whole(self) -> list[str]:
        """What a whole pause does, in its order."""
        add_ons = [] if self.environment.eks is None else ["deploy kubernetes without all"]
        return [
            "deploy guard without all",
            "deploy monitoring without all",
            "deploy connectors without sources",
            "deploy connectors without all",
            *add_ons,
            "deploy processing without all",
            "stop dev-cdc-lake",
        ]

    def pause(self, **options: Any) -> None:
        # It imports CDK.
        from operate.pausing.pause import pause

        pause(self.environment, self.waiter, **options)

    def refused(self, **options: Any) -> str:
        """The one line with which a pause ends."""
        with pytest.raises(OperateError) as caught:
            self.pause(**options)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    def _do(self, what: str) -> None:
        if len(self.log) == self.broken_off_after:
            raise KeyboardInterrupt
        self.log.append(what)

    def deploy(self, command: str, *arguments: str) -> int:
        """Replaces CDK's command line."""
        assert command == "deploy"
        if "--all" in arguments:
            return self._deploy_all()
        [name] = [each for each in arguments if each.startswith(self.environment.prefix)]
        assert "--exclusively" in arguments
        folder = Path(arguments[arguments.index("--app") + 1])
        paused = Paused(folder.name.rpartition("-")[2])
        return self._deploy(name.removeprefix(f"{self.environment.prefix}-"), paused)

    def call(self, client: BaseClient, operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """Replaces botocore's calls."""
        model = client.meta.service_model.operation_model(operation)
        _held_to(parameters, model.input_shape)
        if self.faults.get(operation):
            fault = self.faults[operation].pop(0)
            if not isinstance(fault, ClientError):
                raise fault
            raised: Any = client.exceptions.from_code(fault.response["Error"]["Code"])
            raise raised(fault.response, operation)
        answer: dict[str, Any] = getattr(self, f"_{xform_name(operation)}")(parameters)
        _held_to(answer, model.output_shape)
        return answer

    def _sleep(self, seconds: float) -> None:
        """Time passes, and running operations progress."""
        assert seconds == LOOK_S
        self.now += timedelta(seconds=seconds)
        self.waiting = max(0.0, self.waiting - 1)
        if self.waiting == 0 and self.job_runs:
            self.landed_at = self.now
        self.database = {"stopping": "stopped", "starting": "available"}.get(self.database, self.database)
        self.connectors = {name: state for name, state in self.connectors.items() if state != "DELETING"}
        self.clusters = {id_: state for id_, state in self.clusters.items() if state != "TERMINATING"}

    def _deploy_all(self) -> int:
        self._do("deploy all")
        if status := self.cdk_status.get("all", 0):
            return status
        assert self.may_resume or not self.paused, "the guard refuses that"
        assert self.database == "available", "connectors need their database"
        assert self.paused.get("processing") is not Paused.ALL or not self.clusters, "two jobs of one table"
        self.paused.clear()
        self.endings.clear()
        self._make_connectors()
        self.clusters = {"j-2": "RUNNING"}
        return 0

    def _deploy(self, stack: str, paused: Paused) -> int:
        self._do(f"deploy {stack} without {paused}")
        if status := self.cdk_status.get(stack, 0):
            return status
        self.paused[stack] = paused
        resources = self.templates[paused][f"{self.environment.prefix}-{stack}"]["Resources"].values()
        types = [resource["Type"] for resource in resources]
        if stack == "connectors":
            gone = [name for name in self.names("source") if name in self.connectors]
            gone += self.names("sink") if not set(CONNECTORS) & set(types) else []
            self.endings |= {name: "DELETE_FAILED" if name in self.keeps else "DELETE_COMPLETE" for name in gone}
            self.connectors = {it: state for it, state in self.connectors.items() if it not in gone or it in self.keeps}
        if stack == "kubernetes" and "AWS::EKS::Addon" not in types:
            self.nodes = [node for node in self.nodes if node in self.keeps]
        if stack == "processing" and "AWS::EMR::Cluster" not in types:
            self.clusters = {id_: state for id_, state in self.clusters.items() if id_ in self.keeps}
        return 0

    def _make_connectors(self) -> None:
        for name in (*self.names("source"), *self.names("sink")):
            self.connectors[name] = "RUNNING"
            self.configurations.setdefault(name, {"slot.name": "x"})

    def workers(self, name: str) -> list[str]:
        """A connector's pods, as the cluster's API lists them."""
        return [f"{name}-0"] if name in self.connectors else []

    # AWS's answers.
    def _get_caller_identity(self, _asked: Asked) -> dict[str, Any]:
        return {"Account": self.environment.account}

    def _describe_stacks(self, asked: Asked) -> dict[str, Any]:
        found = [self._stack(name, status) for name, status in self.status.items()]
        stacks = [stack for stack in found if asked.get("StackName") in (None, stack["StackName"])]
        if not stacks:
            raise ClientError({"Error": {"Code": "ValidationError", "Message": "does not exist"}}, "DescribeStacks")
        return {"Stacks": stacks}

    def _delete_stack(self, asked: Asked) -> dict[str, Any]:
        del self.status[asked["StackName"].removeprefix(f"{self.environment.prefix}-")]
        return {}

    def _stack(self, name: str, status: str) -> dict[str, Any]:
        outputs = [{"OutputKey": OUTPUT, "OutputValue": self.paused[name].value}] if name in self.paused else []
        return {
            "StackName": f"{self.environment.prefix}-{name}",
            "StackStatus": status,
            "CreationTime": EPOCH,
            "Outputs": outputs,
        }

    def _get_template(self, asked: Asked) -> dict[str, Any]:
        assert asked["TemplateStage"] == "Original"
        stack = asked["StackName"].removeprefix(f"{self.environment.prefix}-")
        template = dict(self.templates[self.paused.get(stack, Paused.NOTHING)][asked["StackName"]])
        if stack in self.changed:
            template["Resources"] = template["Resources"] | {"Other": {"Type": "AWS::SNS::Topic"}}
        return {"TemplateBody": json.dumps(template)}

    def _describe_db_clusters(self, asked: Asked) -> dict[str, Any]:
        assert asked["DBClusterIdentifier"] == self.environment.database_cluster
        members = [{"DBInstanceIdentifier": name, "IsClusterWriter": name == "writer"} for name in ("reader", "writer")]
        cluster: dict[str, Any] = {
            "DBClusterArn": "arn:aws:rds:x",
            "Status": self.database,
            "DBClusterMembers": members,
        }
        if cluster["Status"] == "stopped":
            cluster["AutomaticRestartTime"] = EPOCH + timedelta(days=7)
        return {"DBClusters": [cluster]}

    def _describe_db_instances(self, asked: Asked) -> dict[str, Any]:
        assert asked["DBInstanceIdentifier"] == "writer"
        status = "available" if self.now >= self.writer_ready_at else "rebooting"
        return {"DBInstances": [{"DBInstanceIdentifier": "writer", "DBInstanceStatus": status}]}

    def _stop_db_cluster(self, asked: Asked) -> dict[str, Any]:
        assert self.database == "available"
        self._do(f"stop {asked['DBClusterIdentifier']}")
        self.database = "stopping"
        return {}

    def _start_db_cluster(self, asked: Asked) -> dict[str, Any]:
        assert self.database == "stopped"
        self._do(f"start {asked['DBClusterIdentifier']}")
        self.database = "starting"
        return {}

    def _list_tags_for_resource(self, _asked: Asked) -> dict[str, Any]:
        return {"TagList": []}

    def _list_connectors(self, asked: Asked) -> dict[str, Any]:
        assert asked["connectorNamePrefix"] == self.environment.prefix
        return {
            "connectors": [
                {"connectorName": name, "connectorArn": f"arn:{name}", "connectorState": state}
                for name, state in self.connectors.items()
            ]
        }

    def _describe_stack_events(self, asked: Asked) -> dict[str, Any]:
        assert asked["StackName"] == f"{self.environment.prefix}-connectors"
        created = dict.fromkeys([*self.names("source"), *self.names("sink")], "CREATE_COMPLETE")
        newest_first = [("other", "UPDATE_COMPLETE"), *self.endings.items(), *created.items()]
        same = {"StackId": "x", "StackName": "x", "Timestamp": EPOCH, "ResourceType": "Custom::KubernetesConnector"}
        return {
            "StackEvents": [
                {**same, "EventId": f"{name}-{status}", "PhysicalResourceId": name, "ResourceStatus": status}
                for name, status in newest_first
            ]
        }

    def _describe_instances(self, asked: Asked) -> dict[str, Any]:
        assert asked["IncludeManagedResources"]
        assert asked["Filters"][0] == {"Name": "tag:eks:eks-cluster-name", "Values": [self.environment.prefix]}
        instances = [{"InstanceId": node} for node in self.nodes]
        return {"Reservations": [{"Instances": instances}] if instances else []}

    def _describe_connector(self, asked: Asked) -> dict[str, Any]:
        return {"connectorConfiguration": self.configurations[asked["connectorArn"].removeprefix("arn:")]}

    def _list_clusters(self, asked: Asked) -> dict[str, Any]:
        found = [{"Id": "j-9", "Name": "somebody-elses", "Status": {"State": "RUNNING"}}]
        for id_, state in self.clusters.items():
            found += [{"Id": id_, "Name": self.environment.prefix, "Status": {"State": state}}]
        return {"Clusters": [cluster for cluster in found if cluster["Status"]["State"] in asked["ClusterStates"]]}  # type: ignore[index]

    def _describe_alarms(self, asked: Asked) -> dict[str, Any]:
        assert asked["StateValue"] == "ALARM"
        return {"MetricAlarms": [{"AlarmName": f"{asked['AlarmNamePrefix']}{name}"} for name in self.alarms]}

    def _get_metric_data(self, asked: Asked) -> dict[str, Any]:
        assert asked["ScanBy"] == "TimestampDescending"
        minute = (asked["EndTime"] - LATE).replace(second=0)
        assert asked["StartTime"] < minute
        results = []
        for query in asked["MetricDataQueries"]:
            value = self._value(query["MetricStat"]["Metric"], minute)
            found: dict[str, Any] = {} if value is None else {"Timestamps": [minute], "Values": [value]}
            results.append({"Id": query["Id"], **found})
        return {"MetricDataResults": results}

    def _value(self, metric: dict[str, Any], minute: datetime) -> float | None:
        dimensions = {each["Name"]: each["Value"] for each in metric["Dimensions"]}
        if metric["MetricName"] == "SumOffsetLag":
            assert metric["Namespace"] == "AWS/Kafka"
            assert dimensions["Cluster Name"] == self.environment.prefix
            assert dimensions["Consumer Group"] in map(sink_group, self.names("sink"))
            return self.waiting
        if metric["Namespace"] == f"{self.environment.prefix}/kafka-connect":
            name = dimensions["ConnectorName"]
            assert name in self.names("source")
            if metric["MetricName"] == "FollowsSlot":
                return 1.0 if name in self.follows else None
            return 1.0 if name in self.connectors and name not in self.silent else None
        assert (metric["Namespace"], metric["MetricName"]) == (self.environment.prefix, "CommitAgeSeconds")
        return max(0.0, (minute - self.landed_at).total_seconds()) if self.job_runs else None


def _held_to(value: Any, shape: Any) -> None:
    if shape is None:
        assert value == {}
        return
    unknown = set(value) - set(shape.members)
    assert not unknown, unknown
    report = ParamValidator().validate(value, shape)
    assert not report.has_errors(), report.generate_report()
