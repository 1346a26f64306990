"""Custom resource: a plugin of MSK Connect, made of pinned releases. Changed content is a new one, under a new name.

Request: `name`, `bucket` and `prefix` (where its zip is kept), `releases` (each `url`, `file`, `size`, `sha256`),
`resources` (files for the class path, text by name), `description`, `tags`. Attributes: `Name`, `Arn`, `Revision`,
`Key`.

Its name holds a hash of what is asked for, so it is known without a download: one that is there needs none.
"""

import json
import re
from typing import Any

from botocore.exceptions import ClientError

from contract.tags import FORMER_OWNER
from plugins.releases.archive import FORMAT
from stacks.handlers import framework, journal, kafka_connect, plugin_archive
from stacks.handlers.framework import Done, Event, Handler, Progress, ResourceError, Waiting
from stacks.handlers.plugin_archive import Archive
from stacks.handlers.transient import retry_reason

KIND = kafka_connect.MskResource(
    what="plugin",
    items="customPlugins",
    listing="list_custom_plugins",
    prefix="namePrefix",
    describe="describe_custom_plugin",
    delete="delete_custom_plugin",
    name="name",
    arn="customPluginArn",
    state="customPluginState",
)
RELEASE_KEYS = {"url", "file", "size", "sha256"}
RESOURCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*")
# How long a deletion waits for a connector that isn't going away or changing by itself.
IN_USE_SECONDS = 600
_REQUIRED = {"name": str, "bucket": str, "prefix": str, "releases": list}
_OPTIONAL = {"resources": dict, "description": str, "tags": dict}
_CHANGING = ("CREATING", "UPDATING", "DELETING", "PAUSING", "RESUMING", "RESTARTING")


def start(event: Event) -> dict[str, Any]:
    wanted = _wanted(event)
    for release in wanted["releases"]:
        if not release["sha256"] or not release["size"]:
            raise ResourceError(f"{release['file']} has no checksum: run `./lake dev lock plugins` and deploy again")
    return {"PhysicalResourceId": _name(wanted)}


def settle(event: Event) -> Progress:
    """Bring the releases, make the zip and the plugin of it, and wait until MSK Connect has read it."""
    wanted = _wanted(event)
    name = event["PhysicalResourceId"]
    if journal.busy(event):
        return Waiting(f"what the request before has begun with {name}")
    found = KIND.find(event, name)
    if found is None:
        return KIND.check_still_there(event, name) or _make(event, wanted, name)
    if found["customPluginState"] == "DELETING":
        return Waiting(f"the plugin {name} is being deleted")
    present = kafka_connect.tags(found["customPluginArn"])
    if kafka_connect.is_siblings(event, present):
        # The same content under a renamed construct: there is nothing in which it could differ.
        kafka_connect.adopt(event, found["customPluginArn"], present)
    framework.check_owner(event, name, present)
    if found["customPluginState"] == "CREATE_FAILED":
        return _failed(event, wanted, found)
    if found["customPluginState"] != "ACTIVE":
        return Waiting(f"the plugin {name} is {found['customPluginState']}")
    kafka_connect.set_tags(found["customPluginArn"], present, _tags(event, wanted, present))
    return _without_leftovers(event, name) or _done(wanted, found)


def remove(event: Event) -> Progress:
    """Delete the plugin when no connector uses it, then its zip; one that is gone or another's is nothing to do.

    It is found by its request: after a creation that was cancelled the id is one of CloudFormation's.
    """
    try:
        wanted = framework.request(event, required=_REQUIRED, optional=_OPTIONAL)
        # After an update of this code, the same releases may have another name by now.
        known = re.fullmatch(re.escape(wanted["name"]) + r"-[0-9a-f]{16}", event["PhysicalResourceId"])
        name = event["PhysicalResourceId"] if known else _name(wanted)
    except (ResourceError, KeyError, TypeError):
        # A request that was refused has made nothing.
        return Done()
    if journal.busy(event):
        return Waiting(f"what the request before has begun with {name}")
    return _removed(event, wanted, name) or Done()


def _removed(event: Event, wanted: dict[str, Any], name: str) -> Progress | None:
    """Remove a plugin and its zip, step by step; None when there is nothing left of it that is this stack's."""
    found = KIND.find(event, name)
    if found is None:
        if waiting := KIND.wait_listed(event, name):
            return waiting
        _archive(event, wanted, name).delete(event)
        return None
    if found["customPluginState"] == "DELETING":
        return Waiting(f"the plugin {name} is being deleted")
    if not kafka_connect.is_to_be_deleted(event, found["customPluginArn"]):
        return None
    return _in_use(event, name, found["customPluginArn"]) or KIND.stop(event, found)


def _wanted(event: Event) -> dict[str, Any]:
    wanted = framework.request(event, required=_REQUIRED, optional=_OPTIONAL)
    for name, text in wanted.get("resources", {}).items():
        if not RESOURCE.fullmatch(name) or not isinstance(text, str) or not text.isascii():
            raise ResourceError(f"Request: resources: {name!r} must be a file's name with a text of ASCII")
    for release in wanted["releases"]:
        if not isinstance(release, dict) or release.keys() != RELEASE_KEYS:
            raise ResourceError(f"Request: each of releases needs {', '.join(sorted(RELEASE_KEYS))}")
    return wanted


def _name(wanted: dict[str, Any]) -> str:
    pinned = sorted([str(release["file"]), str(release["sha256"])] for release in wanted["releases"])
    content = json.dumps([FORMAT, pinned, wanted.get("resources", {})], sort_keys=True)
    return framework.named_by_content(wanted["name"], framework.sha256_of(content))


def _archive(event: Event, wanted: dict[str, Any], name: str) -> Archive:
    key = f"{wanted['prefix']}{name}.zip"
    return Archive(bucket=wanted["bucket"], key=key, owner=framework.owner(event))


def _tags(event: Event, wanted: dict[str, Any], present: dict[str, str]) -> dict[str, str]:
    former = {FORMER_OWNER: present.get(FORMER_OWNER, "")}
    kept = former if all(former.values()) and event["RequestType"] == "Create" else {}
    return framework.tags_of(event, wanted) | kept


def _make(event: Event, wanted: dict[str, Any], name: str) -> Progress:
    """Make the zip unless it is there, then the plugin. A plugin that MSK Connect refuses leaves no zip."""
    archive = _archive(event, wanted, name)
    if not archive.is_there() and (waiting := plugin_archive.upload(event, wanted, archive)):
        return waiting
    partition = event["StackId"].split(":")[1]
    location = {"bucketArn": f"arn:{partition}:s3:::{wanted['bucket']}", "fileKey": archive.key}
    request: dict[str, Any] = {
        "name": name,
        "contentType": "ZIP",
        "description": wanted.get("description", ""),
        "location": {"s3Location": location},
        "tags": framework.tags_of(event, wanted),
    }
    try:
        journal.make(event, lambda: kafka_connect.client().create_custom_plugin(**request)["customPluginArn"])
    except kafka_connect.client().exceptions.ConflictException as error:
        return KIND.wait_name_free(name, error)
    except ClientError as error:
        if not retry_reason(error):
            archive.delete(event)
        raise
    return Waiting(f"the plugin {name} is created")


def _failed(event: Event, wanted: dict[str, Any], found: dict[str, Any]) -> Progress:
    """Remove what MSK Connect couldn't make, and leave nothing of it. Raises ResourceError with its reason, if ours."""
    reason, name = found.get("stateDescription", {}), found["name"]
    waiting = KIND.stop(event, found)
    if journal.own(event).facts.get(journal.ARN) != found["customPluginArn"]:
        # Of an earlier attempt: this one tries again.
        return waiting
    # CloudFormation may not know the new name when an update fails, so nobody else would remove it.
    _archive(event, wanted, name).delete(event)
    raise ResourceError(
        f"MSK Connect couldn't make the plugin {name}: {reason.get('code', 'CREATE_FAILED')}: "
        f"{reason.get('message', 'no reason given')}"
    )


def _without_leftovers(event: Event, name: str) -> Progress | None:
    """Remove what an update that was cancelled made, when this request rolls it back: CloudFormation doesn't know it.

    It doesn't replace anything then: what it is asked for is what CloudFormation knows.
    """
    before = framework.old_request(event, required=_REQUIRED, optional=_OPTIONAL)
    if before is None or event["KnownAs"] != name:
        return None
    left = _name(before)
    return None if left == name else _removed(event, before, left)


def _done(wanted: dict[str, Any], found: dict[str, Any]) -> Done:
    name, revision = found["name"], found.get("latestRevision", {}).get("revision", 0)
    key = f"{wanted['prefix']}{name}.zip"
    return Done(data={"Name": name, "Arn": found["customPluginArn"], "Revision": revision, "Key": key})


def _in_use(event: Event, name: str, arn: str) -> Waiting | None:
    """Wait for connectors that use it. Raises ResourceError when one stays that isn't going away by itself."""
    users: dict[str, str] = {}
    for page in kafka_connect.client().get_paginator("list_connectors").paginate():
        for connector in page.get("connectors", []):
            if arn in [plugin["customPlugin"]["customPluginArn"] for plugin in connector.get("plugins", [])]:
                users[connector["connectorName"]] = connector["connectorState"]
    if not users:
        return None
    reason = f"the plugin {name} is still used by {', '.join(sorted(users))}"
    steady = not any(state in _CHANGING for state in users.values())
    if steady and framework.now() >= event["Started"] + IN_USE_SECONDS:
        raise ResourceError(f"{reason}: change or delete that connector, then delete this again")
    return Waiting(reason)


_handler = Handler(start=start, settle=settle, remove=remove, claim=journal.claim, check=journal.check)
on_event = _handler.on_event
is_complete = _handler.is_complete
