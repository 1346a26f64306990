"""Whatever happens to a plugin's deployment: neither plugin nor zip is left over, and the next deployment works."""

import hashlib
import io
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest

from stacks.handlers import connector_plugin, plugin_archive
from tests.plugins.releases.server import Server, body, serving
from tests.stacks.handlers.clients import CREDENTIALS, client
from tests.stacks.handlers.histories import Stack, World
from tests.stacks.handlers.kafkaconnect_backend import DEATH, EARLY_DEATH, LOST, KafkaConnect, LambdaDeathError

BUCKET = "artefacts"
ONE, TWO = "one", "two"


def _zip(jar: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        packed.writestr(f"lib/{jar}.jar", jar * 100)
    return content.getvalue()


CONTENT = {ONE: _zip(ONE), TWO: _zip(TWO)}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        running.answers = {f"/{name}.zip": [body(content)] for name, content in CONTENT.items()}
        yield running


@pytest.fixture
def stack(world: World, connect: KafkaConnect, aws: None, monkeypatch: pytest.MonkeyPatch) -> Stack:  # noqa: ARG001
    client("s3").create_bucket(
        Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": CREDENTIALS["region_name"]}
    )
    monkeypatch.setattr("plugins.releases.download.WAITS_SECONDS", ())
    connect.ticks_needed = 3
    return Stack(world, connector_plugin, "SourcePlugin")


def request(server: Server, name: str, **more: Any) -> dict[str, Any]:
    content = CONTENT[name]
    pinned = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    release = {"url": f"{server.url}/{name}.zip", "file": f"{name}.zip", **pinned}
    return {"name": "dev-cdc-lake-orders-source", "bucket": BUCKET, "prefix": "plugins/", "releases": [release], **more}


def zips() -> list[str]:
    return [entry["Key"] for entry in client("s3").list_objects_v2(Bucket=BUCKET).get("Contents", [])]


def assert_gone(world: World, connect: KafkaConnect) -> None:
    world.drain()
    assert connect.plugins == {}
    assert zips() == []


def assert_only(stack: Stack, connect: KafkaConnect) -> None:
    """There is what CloudFormation knows of, and its zip."""
    stack.world.drain()
    (plugin,) = connect.plugins.values()
    assert (plugin["name"], plugin["customPluginState"]) == (stack.physical_id, "ACTIVE")
    assert zips() == [f"plugins/{stack.physical_id}.zip"]


def assert_next_works(stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]) -> None:
    again = stack.again()
    assert again.create(wanted).succeeded
    assert_only(again, connect)
    assert again.destroy().succeeded
    assert_gone(stack.world, connect)


@pytest.mark.parametrize("late_first", [True, False])
@pytest.mark.parametrize("after", [0, 30, 300])
@pytest.mark.parametrize("lag", [0, 90])
def test_a_creation_that_is_cancelled_leaves_nothing(
    stack: Stack, connect: KafkaConnect, server: Server, after: int, lag: int, late_first: bool
) -> None:
    connect.list_lag, stack.world.late_first = lag, late_first
    stack.begin_create(request(server, ONE))
    stack.world.run(after)
    assert stack.give_up_creation().succeeded
    assert_gone(stack.world, connect)
    assert_next_works(stack, connect, request(server, ONE))


@pytest.mark.parametrize("fault", [DEATH, EARLY_DEATH, LOST, "BadRequestException", "InternalServerErrorException"])
def test_a_creation_whose_call_ends_badly_leaves_nothing(
    stack: Stack, connect: KafkaConnect, server: Server, fault: str
) -> None:
    connect.list_lag = 90
    connect.faults["CreateCustomPlugin"] = [fault]
    created = stack.create(request(server, ONE))
    assert created.succeeded is (fault in (LOST, "InternalServerErrorException"))
    if created.succeeded:
        assert_only(stack, connect)
        assert stack.destroy().succeeded
    assert_gone(stack.world, connect)


@pytest.mark.parametrize("late_first", [True, False])
@pytest.mark.parametrize("after", [0, 30, 60, 300])
def test_a_cancelled_update_leaves_what_was_there_alone(
    stack: Stack, connect: KafkaConnect, server: Server, after: int, late_first: bool
) -> None:
    """CloudFormation never learns the new plugin's name, so it deletes nothing: the rollback does."""
    stack.world.late_first = late_first
    assert stack.create(request(server, ONE)).succeeded
    before = stack.properties
    stack.begin_update(request(server, TWO))
    stack.world.run(after)
    # The old release's server is gone by now.
    server.answers.pop("/one.zip")
    assert stack.roll_back(before).succeeded
    assert_only(stack, connect)
    assert stack.update(request(server, TWO)).succeeded
    assert_only(stack, connect)


@pytest.mark.parametrize("operation", ["*", "ListCustomPlugins", "ListTagsForResource", "CreateCustomPlugin"])
@pytest.mark.parametrize("seconds", [60, 300])
def test_throttling_is_waited_out(
    stack: Stack, connect: KafkaConnect, server: Server, operation: str, seconds: int
) -> None:
    def throttle() -> None:
        connect.throttled_until[operation] = stack.world.clock.seconds + seconds

    throttle()
    assert stack.create(request(server, ONE)).succeeded
    throttle()
    assert stack.update(request(server, TWO)).succeeded
    throttle()
    assert stack.destroy().succeeded
    assert_gone(stack.world, connect)


@pytest.mark.parametrize("fault", [LOST, "BadRequestException", "InternalServerErrorException"])
def test_a_deletion_that_is_refused_for_a_while_is_asked_for_again(
    stack: Stack, connect: KafkaConnect, server: Server, fault: str
) -> None:
    stack.create(request(server, ONE))
    connect.faults["DeleteCustomPlugin"] = [fault, fault]
    assert stack.destroy().succeeded
    assert_gone(stack.world, connect)


def test_a_function_that_dies_while_it_uploads_leaves_nothing(
    stack: Stack, connect: KafkaConnect, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload, lost = plugin_archive.s3().upload_file, [True]

    def dying(*arguments: Any, **more: Any) -> None:
        upload(*arguments, **more)
        if lost.pop():
            raise LambdaDeathError

    monkeypatch.setattr(plugin_archive.s3(), "upload_file", dying)
    assert not stack.create(request(server, ONE)).succeeded
    monkeypatch.undo()
    assert_gone(stack.world, connect)


def test_a_plugin_that_failed_before_is_made_anew(stack: Stack, connect: KafkaConnect, server: Server) -> None:
    connect.plugin_creations = ["CREATE_FAILED"]
    stack.begin_create(request(server, ONE))
    stack.world.run(30)
    stack.world.waiters.clear()
    stack.world.run(600)
    again = stack.again()
    assert again.create(request(server, ONE)).succeeded
    assert_only(again, connect)


@pytest.mark.parametrize("rolled_back", [True, False])
def test_a_renamed_construct_keeps_its_plugin(
    stack: Stack, connect: KafkaConnect, server: Server, rolled_back: bool
) -> None:
    stack.create(request(server, ONE))
    (arn,) = connect.plugins
    renamed = Stack(stack.world, connector_plugin, "Renamed")
    assert renamed.create(request(server, ONE)).succeeded
    last = stack if rolled_back else renamed
    assert (renamed if rolled_back else stack).destroy().succeeded
    assert_only(last, connect)
    assert list(connect.plugins) == [arn]
    assert last.destroy().succeeded
    assert_gone(stack.world, connect)


def test_a_rollback_from_a_newer_version_of_the_code_works(stack: Stack, connect: KafkaConnect, server: Server) -> None:
    stack.create(request(server, ONE))
    before = stack.properties
    assert "there is no newer" in stack.begin_update(request(server, TWO, newer=1)).reason
    assert stack.roll_back(before).succeeded
    assert_only(stack, connect)
    stack.begin_update(request(server, ONE, newer=1))
    assert stack.destroy().succeeded
    assert_gone(stack.world, connect)
