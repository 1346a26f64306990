"""Requests for a connector and a plugin, everything that they refer to, and checks of the result."""

import base64
import hashlib
import io
import zipfile
from typing import Any

from tests.plugins.releases.server import Server
from tests.stacks.handlers.clients import CREDENTIALS, client
from tests.stacks.handlers.msk_connect.service import KafkaConnect

NAME = "dev-cdc-lake-orders-source"
LOG_GROUP = "/dev/connectors"


def provisioned(workers: int = 1) -> dict[str, Any]:
    return {"provisionedCapacity": {"mcuCount": 1, "workerCount": workers}}


def plugin(connect: KafkaConnect, name: str) -> dict[str, Any]:
    """A plugin in the service; its revision arrives as a string, like every attribute of a resource."""
    location = {"s3Location": {"bucketArn": "arn:aws:s3:::b", "fileKey": name}}
    service = client("kafkaconnect")
    arn = service.create_custom_plugin(name=name, contentType="ZIP", location=location)["customPluginArn"]
    connect.tick()
    connect.calls.clear()
    return {"customPlugin": {"customPluginArn": arn, "revision": "1"}}


def worker(name: str, properties: str) -> dict[str, Any]:
    made = client("kafkaconnect").create_worker_configuration(
        name=name, propertiesFileContent=base64.b64encode(properties.encode()).decode()
    )
    return {"workerConfigurationArn": made["workerConfigurationArn"], "revision": "1"}


def log(stream: str, *lines: str, at: int = 1_795_240_000_000) -> None:
    logs = client("logs")
    if not logs.describe_log_groups(logGroupNamePrefix=LOG_GROUP)["logGroups"]:
        logs.create_log_group(logGroupName=LOG_GROUP)
    logs.create_log_stream(logGroupName=LOG_GROUP, logStreamName=stream)
    events = [{"timestamp": at + number, "message": line} for number, line in enumerate(lines)]
    logs.put_log_events(logGroupName=LOG_GROUP, logStreamName=stream, logEvents=events)


def configuration(wanted: dict[str, Any], **changes: str) -> dict[str, Any]:
    return {**wanted, "connectorConfiguration": {**wanted["connectorConfiguration"], **changes}}


def connector_request(connect: KafkaConnect) -> dict[str, Any]:
    """A complete request, with the plugin and the worker configuration that it names."""
    return {
        "connectorName": NAME,
        "kafkaConnectVersion": "3.7.x",
        "capacity": provisioned(),
        "connectorConfiguration": {"connector.class": "Postgres", "database.password": "${secretsmanager:x:password}"},
        "plugins": [plugin(connect, "one")],
        "workerConfiguration": worker("one", "offset.storage.topic=offsets\n"),
        "serviceExecutionRoleArn": "arn:aws:iam::123456789012:role/source",
        "logDelivery": {"workerLogDelivery": {"cloudWatchLogs": {"enabled": True, "logGroup": LOG_GROUP}}},
        "kafkaCluster": {
            "apacheKafkaCluster": {
                "bootstrapServers": "b-1:9098,b-2:9098",
                "vpc": {"subnets": ["subnet-1", "subnet-2"], "securityGroups": ["sg-1"]},
            }
        },
        "kafkaClusterClientAuthentication": {"authenticationType": "IAM"},
        "kafkaClusterEncryptionInTransit": {"encryptionType": "TLS"},
        "tags": {"environment": "dev"},
    }


def updates(connect: KafkaConnect) -> list[dict[str, Any]]:
    """The update requests so far."""
    return [request for operation, request in connect.requests if operation == "UpdateConnector"]


def assert_as(connect: KafkaConnect, wanted: dict[str, Any]) -> None:
    """The only connector runs as wanted."""
    found = connect.connector(NAME)
    assert len(connect.connectors) == 1
    assert found["connectorState"] == "RUNNING"
    assert found["connectorConfiguration"] == wanted["connectorConfiguration"]
    assert found["capacity"] == wanted["capacity"]
    assert found["kafkaConnectVersion"] == wanted["kafkaConnectVersion"]


BUCKET = "artefacts"
PLUGIN = "dev-cdc-lake-orders-source"


def archive(*names: str) -> bytes:
    """A release's zip."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        packed.writestr("plugin/LICENSE.txt", "text")
        for name in names:
            packed.writestr(f"plugin/lib/{name}.jar", name * 300)
    return content.getvalue()


RELEASES = {name: archive(name) for name in ("one", "two", "provider")}


def plugin_request(server: Server, *names: str, **changes: Any) -> dict[str, Any]:
    """A plugin of releases that the server has."""
    releases = [
        {
            "url": f"{server.url}/{name}.zip",
            "file": f"{name}.zip",
            "size": len(RELEASES[name]),
            "sha256": hashlib.sha256(RELEASES[name]).hexdigest(),
        }
        for name in names
    ]
    return {"name": PLUGIN, "bucket": BUCKET, "prefix": "plugins/", "releases": releases, "tags": {"a": "b"}, **changes}


def make_bucket() -> None:
    s3 = client("s3")
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": CREDENTIALS["region_name"]})
    s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})


def stored() -> set[str]:
    """All keys in the bucket with any version."""
    pages = client("s3").list_object_versions(Bucket=BUCKET)
    return {each["Key"] for each in [*pages.get("Versions", []), *pages.get("DeleteMarkers", [])]}
