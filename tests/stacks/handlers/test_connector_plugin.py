import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from plugins.releases.archive import RESOURCES_JAR
from stacks.handlers import connector_plugin, plugin_archive
from tests.plugins.releases.server import Server, body, serving, status
from tests.stacks.handlers.clients import CREDENTIALS, client
from tests.stacks.handlers.deployment import DeploymentError, Resource, failing
from tests.stacks.handlers.kafkaconnect_backend import LOST, KafkaConnect

BUCKET = "artefacts"
BASE = "dev-cdc-lake-orders-source"
Make = Callable[..., Resource]


def archive(**jars: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        packed.writestr("plugin/LICENSE.txt", "text")
        for name, jar in jars.items():
            packed.writestr(f"plugin/lib/{name}.jar", jar)
    return content.getvalue()


ONE, TWO, PROVIDER = archive(one=b"1" * 999), archive(two=b"2" * 999), archive(provider=b"p")


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        running.answers = {"/one.zip": [body(ONE)], "/two.zip": [body(TWO)], "/provider.zip": [body(PROVIDER)]}
        yield running


@pytest.fixture
def plugin(resource: Make, aws: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Resource:  # noqa: ARG001
    s3 = client("s3")
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": CREDENTIALS["region_name"]})
    s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    s3.put_object(Bucket=BUCKET, Key=f"plugins/{BASE}-other.zip", Body=b"another's")
    # What a handler leaves behind on disk would fill Lambda's.
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return resource(connector_plugin)


def request(server: Server, *names: str, **changes: Any) -> dict[str, Any]:
    content = {"one": ONE, "two": TWO, "provider": PROVIDER}
    releases = [
        {
            "url": f"{server.url}/{name}.zip",
            "file": f"{name}.zip",
            "size": len(content[name]),
            "sha256": hashlib.sha256(content[name]).hexdigest(),
        }
        for name in names
    ]
    return {"name": BASE, "bucket": BUCKET, "prefix": "plugins/", "releases": releases, "tags": {"a": "b"}, **changes}


def keys() -> set[str]:
    """All keys with any version."""
    pages = client("s3").list_object_versions(Bucket=BUCKET)
    return {each["Key"] for each in [*pages.get("Versions", []), *pages.get("DeleteMarkers", [])]}


OTHERS = f"plugins/{BASE}-other.zip"


def test_one_zip_of_all_jars_becomes_the_plugin(
    connect: KafkaConnect, plugin: Resource, server: Server, tmp_path: Path
) -> None:
    data = plugin.create(request(server, "one", "provider"))
    (made,) = connect.plugins.values()
    stored = client("s3").get_object(Bucket=BUCKET, Key=data["Key"])
    content = stored["Body"].read()
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        assert packed.namelist() == ["one.jar", "provider.jar"]
    assert stored["Metadata"]["sha256"] == hashlib.sha256(content).hexdigest()
    name = plugin.physical_id
    assert name is not None
    assert data == {"Name": name, "Arn": made["customPluginArn"], "Revision": 1, "Key": f"plugins/{name}.zip"}
    assert re.fullmatch(f"{BASE}-[0-9a-f]{{16}}", name)
    assert made["name"] == name
    assert made["latestRevision"]["location"] == {
        "s3Location": {"bucketArn": f"arn:aws:s3:::{BUCKET}", "fileKey": data["Key"]}
    }
    assert connect.tags[data["Arn"]]["a"] == "b"
    assert list(tmp_path.iterdir()) == []


def test_resources_are_in_the_plugin_and_changed_ones_make_a_new_one(plugin: Resource, server: Server) -> None:
    old = plugin.create(request(server, "one", resources={"rds-ca.pem": "old"}))
    stored = client("s3").get_object(Bucket=BUCKET, Key=old["Key"])["Body"].read()
    with zipfile.ZipFile(io.BytesIO(stored)) as packed:
        assert packed.namelist() == [RESOURCES_JAR, "one.jar"]
    assert plugin.update(request(server, "one", resources={"rds-ca.pem": "new"}))["Arn"] != old["Arn"]


def test_a_missing_object_that_s3_will_not_talk_about_is_uploaded(
    plugin: Resource, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(**_: str) -> None:
        raise ClientError({"Error": {"Code": "403", "Message": "Forbidden"}}, "HeadObject")

    monkeypatch.setattr(client("s3"), "head_object", forbidden)
    data = plugin.create(request(server, "one"))
    assert keys() == {OTHERS, data["Key"]}


def test_a_wrong_checksum_shows_both_and_leaves_nothing(
    connect: KafkaConnect, plugin: Resource, server: Server, tmp_path: Path
) -> None:
    server.answers["/one.zip"] = [body(b"x" * len(ONE))]
    reason = failing(plugin, request(server, "provider", "one"))
    assert hashlib.sha256(ONE).hexdigest() in reason
    assert hashlib.sha256(b"x" * len(ONE)).hexdigest() in reason
    assert connect.plugins == {}
    assert keys() == {OTHERS}
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_pinned_is_refused_with_what_to_do(connect: KafkaConnect, plugin: Resource, server: Server) -> None:
    wanted = request(server, "one")
    wanted["releases"][0]["sha256"] = ""
    assert failing(plugin, wanted) == "one.zip has no checksum: run `./lake dev lock plugins` and deploy again"
    assert server.requested == []
    assert connect.plugins == {}


def test_a_release_that_cannot_be_brought_is_the_reason(
    connect: KafkaConnect, plugin: Resource, server: Server
) -> None:
    server.answers["/one.zip"] = [status(404)]
    assert failing(plugin, request(server, "one")).endswith("/one.zip: HTTP 404 Not Found")
    assert connect.plugins == {}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"releases": [{"url": "x"}]}, "each of releases needs file, sha256, size, url"),
        ({"releases": "x"}, "releases must be of type list"),
        ({"version": 1}, "there is no version"),
        ({"releases": []}, "no jar in"),
        ({"resources": {"a/../b": "text"}}, "resources: 'a/../b' must be a file's name with a text of ASCII"),
        ({"resources": {"a.pem": 1}}, "resources: 'a.pem' must be a file's name with a text of ASCII"),
        ({"bucket": "gone"}, "NoSuchBucket"),
    ],
)
def test_a_wrong_request_is_refused_by_its_name(
    plugin: Resource, server: Server, changes: dict[str, Any], reason: str
) -> None:
    assert reason in failing(plugin, request(server, "one", **changes))


def test_changed_content_is_a_new_plugin_and_the_old_one_is_removed(
    connect: KafkaConnect, plugin: Resource, server: Server
) -> None:
    old = plugin.create(request(server, "one"))
    new = plugin.update(request(server, "two"))
    assert new["Arn"] != old["Arn"]
    assert plugin.physical_id == new["Name"]
    assert plugin.attempts == [old["Name"]]
    assert [each["name"] for each in connect.plugins.values()] == [new["Name"]]
    assert keys() == {OTHERS, new["Key"]}


def test_the_same_content_stays_the_same_plugin(connect: KafkaConnect, plugin: Resource, server: Server) -> None:
    old = plugin.create(request(server, "one"))
    assert plugin.update(request(server, "one", tags={"team": "data"})) == old
    assert connect.called("CreateCustomPlugin") == ["CreateCustomPlugin"]
    assert connect.tags[old["Arn"]]["team"] == "data"
    assert "a" not in connect.tags[old["Arn"]]
    assert len(client("s3").list_object_versions(Bucket=BUCKET, Prefix=old["Key"])["Versions"]) == 1


def test_an_old_plugin_waits_for_the_connector_that_still_uses_it(
    connect: KafkaConnect, plugin: Resource, server: Server
) -> None:
    arn = plugin.create(request(server, "one"))["Arn"]
    use(connect, arn)
    waiting = plugin.begin(plugin.event("Delete"))
    assert plugin.poll(waiting) is None
    connect.connectors.clear()
    plugin.finish(waiting)
    assert connect.plugins == {}
    assert keys() == {OTHERS}


def test_a_plugin_that_stays_in_use_is_left_with_the_connectors_name(
    connect: KafkaConnect, plugin: Resource, server: Server
) -> None:
    data = plugin.create(request(server, "one"))
    use(connect, data["Arn"])
    with pytest.raises(DeploymentError, match="is still used by someone: change or delete that connector"):
        plugin.delete()
    assert list(connect.plugins) == [data["Arn"]]
    assert keys() == {OTHERS, data["Key"]}


def test_a_plugin_that_msk_connect_cannot_read_leaves_nothing(
    connect: KafkaConnect, plugin: Resource, server: Server
) -> None:
    connect.plugin_creations = ["CREATE_FAILED"]
    reason = failing(plugin, request(server, "one"))
    assert reason.endswith("InvalidZip: The ZIP file can't be read.")
    assert connect.plugins == {}
    assert keys() == {OTHERS}


def test_an_update_that_fails_keeps_the_old_plugin(connect: KafkaConnect, plugin: Resource, server: Server) -> None:
    old = plugin.create(request(server, "one"))
    connect.plugin_creations = ["CREATE_FAILED"]
    failing(plugin, request(server, "two"), update=True)
    connect.tick()
    assert plugin.physical_id == old["Name"]
    assert list(connect.plugins) == [old["Arn"]]
    assert keys() == {OTHERS, old["Key"]}


def test_an_update_that_fails_cleans_up_though_cloudformation_may_not(
    connect: KafkaConnect, plugin: Resource, server: Server
) -> None:
    old = plugin.create(request(server, "one"))
    connect.plugin_creations = ["CREATE_FAILED"]
    plugin.properties = {"Request": json.dumps(request(server, "two"))}
    waiting = plugin.begin(plugin.event("Update"))
    plugin.poll(waiting)
    connect.tick()
    with pytest.raises(DeploymentError, match="The ZIP file can't be read"):
        plugin.poll(waiting)
    connect.tick()
    assert list(connect.plugins) == [old["Arn"]]
    assert keys() == {OTHERS, old["Key"]}


def test_an_update_that_another_resource_fails_goes_back(
    connect: KafkaConnect, plugin: Resource, server: Server
) -> None:
    old = plugin.create(request(server, "one"))
    properties = plugin.properties
    plugin.properties = {"Request": json.dumps(request(server, "two"))}
    waiting = plugin.begin(plugin.event("Update"))
    new, plugin.physical_id = plugin.finish(waiting), waiting["PhysicalResourceId"]
    plugin.properties = properties
    back = plugin.begin(plugin.event("Update"))
    assert back["PhysicalResourceId"] == old["Name"]
    assert plugin.finish(back) == old
    plugin.physical_id = new["Name"]
    plugin.properties = {"Request": json.dumps(request(server, "two"))}
    plugin.delete()
    assert list(connect.plugins) == [old["Arn"]]


def test_a_delivery_that_comes_twice_makes_one(connect: KafkaConnect, plugin: Resource, server: Server) -> None:
    plugin.properties = {"Request": json.dumps(request(server, "one"))}
    event = plugin.event("Create")
    first, second = plugin.begin(event), plugin.begin(event)
    assert plugin.finish(first) == plugin.finish(second)
    assert len(connect.plugins) == 1


def test_a_creation_that_was_deleted_meanwhile_is_not_made_again(
    connect: KafkaConnect, plugin: Resource, server: Server
) -> None:
    plugin.properties = {"Request": json.dumps(request(server, "one"))}
    waiting = plugin.begin(plugin.event("Create"))
    plugin.physical_id = waiting["PhysicalResourceId"]
    connect.tick()
    plugin.delete()
    with pytest.raises(DeploymentError, match="a later request has taken over"):
        plugin.poll(waiting)


@pytest.mark.parametrize("fault", ["TooManyRequestsException", "ServiceUnavailableException", LOST])
@pytest.mark.parametrize("operation", ["CreateCustomPlugin", "ListTagsForResource", "DeleteCustomPlugin"])
def test_a_busy_service_is_asked_again(
    connect: KafkaConnect, plugin: Resource, server: Server, operation: str, fault: str
) -> None:
    connect.faults[operation] = [fault]
    plugin.create(request(server, "one"))
    plugin.delete()
    assert connect.plugins == {}
    assert keys() == {OTHERS}


def test_a_strangers_plugin_of_that_name_is_left_alone(
    connect: KafkaConnect, plugin: Resource, resource: Make, server: Server
) -> None:
    data = plugin.create(request(server, "one"))
    second = resource(connector_plugin, stack_id="arn:aws:cloudformation:x:1:stack/another/1")
    assert "is there already and isn't this resource's" in failing(second, request(server, "one", prefix="second/"))
    second.physical_id, second.properties = plugin.physical_id, plugin.properties
    second.delete()
    assert list(connect.plugins) == [data["Arn"]]
    assert keys() == {OTHERS, data["Key"]}


def test_content_that_is_still_being_deleted_is_waited_for(
    connect: KafkaConnect, plugin: Resource, server: Server
) -> None:
    old = plugin.create(request(server, "one"))
    plugin.poll(plugin.begin(plugin.event("Delete")))
    plugin.clock.seconds += 30
    plugin.physical_id = None
    new = plugin.create(request(server, "one"))
    assert (new["Name"], list(connect.plugins)) == (old["Name"], [new["Arn"]])
    assert new["Arn"] != old["Arn"]


def test_a_plugin_that_is_there_needs_no_download(plugin: Resource, server: Server) -> None:
    """A rollback, or a change of tags alone, must not depend on somebody else's server."""
    old = plugin.create(request(server, "one"))
    server.answers.clear()
    asked = len(server.requested)
    assert plugin.update(request(server, "one", tags={"team": "data"})) == old
    assert len(server.requested) == asked


def test_a_server_that_is_out_of_reach_for_minutes_is_waited_for(
    plugin: Resource, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plugins.releases.download.WAITS_SECONDS", ())
    server.answers["/one.zip"] = [status(503), status(503), body(ONE)]
    plugin.create(request(server, "one"))
    server.answers["/two.zip"] = [status(503)] * 40
    began = plugin.clock.seconds
    assert "HTTP 503" in failing(plugin, request(server, "two"), update=True)
    assert plugin.clock.seconds - began < plugin_archive.UNREACHABLE_SECONDS + 180


def test_a_plugin_that_is_refused_leaves_no_zip(connect: KafkaConnect, plugin: Resource, server: Server) -> None:
    connect.faults["CreateCustomPlugin"] = ["BadRequestException"]
    assert "CreateCustomPlugin: BadRequestException" in failing(plugin, request(server, "one"))
    assert keys() == {OTHERS}


def test_a_plugin_of_another_format_is_another_plugin(
    connect: KafkaConnect, plugin: Resource, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = plugin.create(request(server, "one"))
    monkeypatch.setattr(connector_plugin, "FORMAT", 2)
    new = plugin.update(request(server, "one"))
    # The old one's Delete says the same request, which means another name by now.
    assert plugin.attempts == [old["Name"]]
    assert list(connect.plugins) == [new["Arn"]]
    assert keys() == {OTHERS, new["Key"]}


def test_deleted_twice_or_by_hand_is_nothing_to_do(connect: KafkaConnect, plugin: Resource, server: Server) -> None:
    key = plugin.create(request(server, "one"))["Key"]
    client("s3").put_object(Bucket=BUCKET, Key=f"{key}.note", Body=b"somebody's")
    connect.plugins.clear()
    plugin.delete()
    assert keys() == {OTHERS, f"{key}.note"}
    plugin.delete()
    s3 = client("s3")
    for version in s3.list_object_versions(Bucket=BUCKET)["Versions"]:
        s3.delete_object(Bucket=BUCKET, Key=version["Key"], VersionId=version["VersionId"])
    s3.delete_bucket(Bucket=BUCKET)
    plugin.delete()
    assert connect.called("DeleteCustomPlugin") == []


def use(connect: KafkaConnect, plugin_arn: str) -> None:
    client("kafkaconnect").create_connector(
        connectorName="someone",
        kafkaConnectVersion="3.7.x",
        capacity={"provisionedCapacity": {"mcuCount": 1, "workerCount": 1}},
        connectorConfiguration={},
        plugins=[{"customPlugin": {"customPluginArn": plugin_arn, "revision": 1}}],
        serviceExecutionRoleArn="arn",
        kafkaCluster={"apacheKafkaCluster": {"bootstrapServers": "b", "vpc": {"subnets": ["s"]}}},
        kafkaClusterClientAuthentication={"authenticationType": "IAM"},
        kafkaClusterEncryptionInTransit={"encryptionType": "TLS"},
    )
    connect.tick()
