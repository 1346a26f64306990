"""A plugin of pinned releases: its zip, its name, refusals, and its remaining users."""

import hashlib
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from plugins.releases import download
from plugins.releases.archive import RESOURCES_JAR
from stacks.handlers import connector_plugin
from tests.plugins.releases.server import Answer, Server, body, serving, status
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.cloudformation import DeploymentError, Stack, World, failing
from tests.stacks.handlers.msk_connect.requests import BUCKET, PLUGIN, RELEASES, make_bucket, plugin_request, stored
from tests.stacks.handlers.msk_connect.service import KafkaConnect
from tests.stacks.handlers.provider_framework import LambdaDeathError

ONE = RELEASES["one"]
OTHER = b"x" * len(ONE)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        running.answers = {f"/{name}.zip": [body(content)] for name, content in RELEASES.items()}
        yield running


@pytest.fixture
def plugin(
    world: World,
    aws: None,  # noqa: ARG001
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Stack:
    make_bucket()
    client("s3").put_object(Bucket=BUCKET, Key=f"plugins/{PLUGIN}-other.zip", Body=b"another's")
    # Files left on disk by a handler would fill Lambda's.
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return Stack(world, connector_plugin, wanted=plugin_request(server, "one"))


OTHERS = f"plugins/{PLUGIN}-other.zip"


def assert_gone(plugin: Stack, connect: KafkaConnect) -> None:
    """Neither plugin nor zip exists, and nothing will."""
    plugin.world.drain()
    assert connect.plugins == {}
    assert stored() == {OTHERS}


def test_a_zip_of_all_jars_is_the_plugin(connect: KafkaConnect, plugin: Stack, server: Server, tmp_path: Path) -> None:
    data = plugin.create(plugin_request(server, "one", "provider"))
    (made,) = connect.plugins.values()
    kept = client("s3").get_object(Bucket=BUCKET, Key=data["Key"])
    content = kept["Body"].read()
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        assert packed.namelist() == ["one.jar", "provider.jar"]
    assert kept["Metadata"]["sha256"] == sha256(content)
    name = plugin.physical_id
    assert name is not None
    assert data == {"Name": name, "Arn": made["customPluginArn"], "Revision": 1, "Key": f"plugins/{name}.zip"}
    assert re.fullmatch(f"{PLUGIN}-[0-9a-f]{{16}}", name)
    assert made["name"] == name
    assert made["latestRevision"]["location"] == {
        "s3Location": {"bucketArn": f"arn:aws:s3:::{BUCKET}", "fileKey": data["Key"]}
    }
    assert connect.tags[data["Arn"]]["a"] == "b"
    assert list(tmp_path.iterdir()) == []


def test_resources_are_in_the_plugin_and_changed_ones_make_a_new_one(plugin: Stack) -> None:
    old = plugin.create(plugin.but(resources={"rds-ca.pem": "old"}))
    kept = client("s3").get_object(Bucket=BUCKET, Key=old["Key"])["Body"].read()
    with zipfile.ZipFile(io.BytesIO(kept)) as packed:
        assert packed.namelist() == [RESOURCES_JAR, "one.jar"]
    assert plugin.update(plugin.but(resources={"rds-ca.pem": "new"}))["Arn"] != old["Arn"]


def test_a_missing_object_that_s3_keeps_secret_is_uploaded(plugin: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(**_: str) -> None:
        raise ClientError({"Error": {"Code": "403", "Message": "Forbidden"}}, "HeadObject")

    monkeypatch.setattr(client("s3"), "head_object", forbidden)
    data = plugin.create()
    assert stored() == {OTHERS, data["Key"]}


@pytest.mark.parametrize(
    ("answer", "end", "fault", "said"),
    [
        pytest.param(body(OTHER), None, None, (sha256(ONE), sha256(OTHER)), id="another checksum"),
        pytest.param(status(404), None, None, ("/one.zip: HTTP 404 Not Found",), id="no such release"),
        pytest.param(body(ONE), "CREATE_FAILED", None, ("InvalidZip: The ZIP file can't be read.",), id="unreadable"),
        pytest.param(body(ONE), None, "BadRequestException", ("CreateCustomPlugin: BadRequest",), id="refused"),
    ],
)
def test_what_makes_no_plugin_says_why_and_leaves_nothing(
    connect: KafkaConnect,
    plugin: Stack,
    server: Server,
    tmp_path: Path,
    answer: Answer,
    end: str | None,
    fault: str | None,
    said: tuple[str, ...],
) -> None:
    server.answers["/one.zip"] = [answer]
    connect.plugin_creations = [end] if end else []
    connect.faults["CreateCustomPlugin"] = [fault] if fault else []
    reason = failing(plugin.create, plugin_request(server, "provider", "one"))
    assert [each for each in said if each not in reason] == []
    assert_gone(plugin, connect)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_pinned_is_refused_with_what_to_do(plugin: Stack, server: Server) -> None:
    plugin.wanted["releases"][0]["sha256"] = ""
    assert failing(plugin.create) == "one.zip has no checksum: run `./lake dev lock plugins` and deploy again"
    assert server.requested == []


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
def test_a_wrong_request_is_refused_by_its_name(plugin: Stack, changes: dict[str, Any], reason: str) -> None:
    assert reason in failing(plugin.create, plugin.but(**changes))


def test_an_old_plugin_waits_for_the_connector_that_still_uses_it(connect: KafkaConnect, plugin: Stack) -> None:
    arn = plugin.create()["Arn"]
    use(connect, arn)
    waiting = plugin.send("Delete")
    assert waiting.poll() is None
    connect.connectors.clear()
    plugin.finish(waiting)
    assert connect.plugins == {}
    assert stored() == {OTHERS}


def test_a_plugin_that_stays_in_use_is_left_with_the_connectors_name(connect: KafkaConnect, plugin: Stack) -> None:
    data = plugin.create()
    use(connect, data["Arn"])
    with pytest.raises(DeploymentError, match="is still used by someone: change or delete that connector"):
        plugin.delete()
    assert list(connect.plugins) == [data["Arn"]]
    assert stored() == {OTHERS, data["Key"]}


def test_a_failed_update_cleans_up_by_itself(connect: KafkaConnect, plugin: Stack, server: Server) -> None:
    old = plugin.create()
    connect.plugin_creations = ["CREATE_FAILED"]
    waiting = plugin.begin_update(plugin_request(server, "two"))
    waiting.poll()
    connect.tick()
    with pytest.raises(DeploymentError, match="The ZIP file can't be read"):
        waiting.poll()
    connect.tick()
    assert list(connect.plugins) == [old["Arn"]]
    assert stored() == {OTHERS, old["Key"]}


def test_an_update_that_another_resource_fails_goes_back(connect: KafkaConnect, plugin: Stack, server: Server) -> None:
    old = plugin.create()
    before = plugin.properties
    new = plugin.take(plugin.world.finish(plugin.begin_update(plugin_request(server, "two"))))
    assert plugin.roll_back(before) == old
    assert plugin.deleted == [new["Name"]]
    assert list(connect.plugins) == [old["Arn"]]


def test_content_that_is_still_being_deleted_is_waited_for(connect: KafkaConnect, plugin: Stack) -> None:
    old = plugin.create()
    plugin.send("Delete").poll()
    plugin.world.clock.seconds += 30
    new = plugin.create()
    assert (new["Name"], list(connect.plugins)) == (old["Name"], [new["Arn"]])
    assert new["Arn"] != old["Arn"]


def test_same_content_is_the_same_plugin_without_download(connect: KafkaConnect, plugin: Stack, server: Server) -> None:
    """A rollback, or a change of tags alone, must not depend on an external server."""
    old = plugin.create()
    server.answers.clear()
    asked = len(server.requested)
    assert plugin.update(plugin.but(tags={"team": "data"})) == old
    assert len(server.requested) == asked
    assert connect.tags[old["Arn"]]["team"] == "data"
    assert "a" not in connect.tags[old["Arn"]]
    assert len(client("s3").list_object_versions(Bucket=BUCKET, Prefix=old["Key"])["Versions"]) == 1


def test_a_server_that_is_out_of_reach_for_minutes_is_waited_for(plugin: Stack, server: Server) -> None:
    server.answers["/one.zip"] = [status(503), status(503), body(ONE)]
    plugin.create()
    server.answers["/two.zip"] = [status(503)] * 40
    began = plugin.world.clock.seconds
    assert "HTTP 503" in failing(plugin.update, plugin_request(server, "two"))
    assert plugin.world.clock.seconds - began < connector_plugin.UNREACHABLE_SECONDS + 180


def test_a_server_that_crawls_doesnt_outlast_the_function(
    plugin: Stack, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert download.ATTEMPT_SECONDS * 2 < connector_plugin.UPLOAD_SECONDS
    monkeypatch.setattr(download, "ATTEMPT_SECONDS", -1)
    assert plugin.begin_create().poll() is None
    assert server.requested == ["/one.zip"]


def test_another_format_is_a_new_plugin(connect: KafkaConnect, plugin: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    old = plugin.create()
    monkeypatch.setattr(connector_plugin, "FORMAT", 2)
    new = plugin.update(plugin.wanted)
    # The old one's Delete has the same request, which means another name by now.
    assert plugin.deleted == [old["Name"]]
    assert list(connect.plugins) == [new["Arn"]]
    assert stored() == {OTHERS, new["Key"]}


def test_deleted_twice_or_by_hand_is_nothing_to_do(connect: KafkaConnect, plugin: Stack) -> None:
    key = plugin.create()["Key"]
    client("s3").put_object(Bucket=BUCKET, Key=f"{key}.note", Body=b"somebody's")
    connect.plugins.clear()
    plugin.delete()
    assert stored() == {OTHERS, f"{key}.note"}
    plugin.delete()
    s3 = client("s3")
    for version in s3.list_object_versions(Bucket=BUCKET)["Versions"]:
        s3.delete_object(Bucket=BUCKET, Key=version["Key"], VersionId=version["VersionId"])
    s3.delete_bucket(Bucket=BUCKET)
    plugin.delete()
    assert connect.called("DeleteCustomPlugin") == []


def use(connect: KafkaConnect, plugin_arn: str) -> None:
    plugins = [{"customPlugin": {"customPluginArn": plugin_arn, "revision": 1}}]
    connect.connectors["arn"] = {"connectorName": "someone", "connectorState": "RUNNING", "plugins": plugins}


def test_a_function_that_dies_while_it_uploads_leaves_nothing(
    plugin: Stack, connect: KafkaConnect, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload, lost = client("s3").upload_file, [True]

    def dying(*arguments: Any, **more: Any) -> None:
        upload(*arguments, **more)
        if lost.pop():
            raise LambdaDeathError

    monkeypatch.setattr(client("s3"), "upload_file", dying)
    failing(plugin.create)
    monkeypatch.undo()
    assert_gone(plugin, connect)


def test_a_plugin_that_failed_before_is_made_again(plugin: Stack, connect: KafkaConnect) -> None:
    connect.plugin_creations = ["CREATE_FAILED"]
    plugin.begin_create()
    plugin.world.run(30)
    plugin.world.waiters.clear()
    plugin.world.run(600)
    again = plugin.again()
    data = again.create()
    assert stored() == {OTHERS, data["Key"]}
