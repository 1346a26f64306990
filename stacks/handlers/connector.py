"""Custom resource: a connector of MSK Connect. Its name is its identity: slot, offsets, consumer group, bookkeeping.

Request: CreateConnector's own, in the API's names. What UpdateConnector takes is changed in place; for anything else
the connector is stopped and made anew under its name. Attributes: `Name`, `Arn`, `Version`.
"""

from typing import Any

from contract.tags import ASKED, CREATED_BY, FORMER_OWNER, OWNER, SHOWN
from stacks.handlers import connector_log, connector_name, connector_operations, framework, journal, kafka_connect
from stacks.handlers.connector_changes import (
    FIXED,
    asked,
    described,
    differences,
    is_source,
    shown,
    update,
)
from stacks.handlers.connector_offsets import check_offsets
from stacks.handlers.framework import Done, Event, Handler, Progress, ResourceError, Waiting
from stacks.handlers.redaction import hidden

KIND = kafka_connect.MskResource(
    what="connector",
    items="connectors",
    listing="list_connectors",
    prefix="connectorNamePrefix",
    describe="describe_connector",
    delete="delete_connector",
    name="connectorName",
    arn="connectorArn",
    state="connectorState",
)
_SETTLED = ("RUNNING", "PAUSED")


def start(event: Event) -> dict[str, Any]:
    return {"PhysicalResourceId": connector_name.kept(event, _wanted(event)["connectorName"])}


def settle(event: Event) -> Progress:
    wanted = _wanted(event)
    name = wanted["connectorName"]
    if journal.busy(event):
        return Waiting(f"what the request before has begun with {name}")
    found = KIND.find(event, name)
    if found is None:
        return KIND.check_still_there(event, name) or _create(event, wanted)
    if found["connectorState"] == "DELETING":
        return Waiting(f"the connector {name} is being deleted")
    present = kafka_connect.tags(found["connectorArn"])
    if kafka_connect.is_siblings(event, present):
        return _adopt(event, wanted, found, present)
    framework.check_owner(event, name, present)
    return _converge(event, wanted, found, present)


def remove(event: Event) -> Progress:
    """Delete the connector; one that is gone or another's is nothing to do. Slot and offsets stay.

    It is found by its request: after a creation that was cancelled the id is one of CloudFormation's.
    """
    name = _name(event)
    if journal.busy(event):
        return Waiting(f"what the request before has begun with {name}")
    found = KIND.find(event, name)
    if found is None:
        return KIND.wait_listed(event, name) or Done()
    if found["connectorState"] == "DELETING":
        return Waiting(f"the connector {name} is being deleted")
    return KIND.stop(event, found) if kafka_connect.is_to_be_deleted(event, found["connectorArn"]) else Done()


def _wanted(event: Event) -> dict[str, Any]:
    texts = dict.fromkeys(("connectorName", "kafkaConnectVersion", "serviceExecutionRoleArn"), str)
    objects = dict.fromkeys(("capacity", "connectorConfiguration", "kafkaCluster", "logDelivery"), dict)
    security = dict.fromkeys(("kafkaClusterClientAuthentication", "kafkaClusterEncryptionInTransit"), dict)
    wanted = framework.request(
        event,
        required={**texts, **objects, **security, "plugins": list},
        optional={"workerConfiguration": dict, "networkType": str, "tags": dict},
    )
    plugins = [plugin.get("customPlugin", {}) for plugin in wanted["plugins"]]
    for holder in [*plugins, wanted.get("workerConfiguration", {})]:
        # Another resource's attribute arrives as a string.
        if str(holder.get("revision", "")).isdecimal():
            holder["revision"] = int(holder["revision"])
    return wanted


def _name(event: Event) -> str:
    """The name in a request that is to be deleted, whatever else is in it; one that can't be read has made nothing."""
    try:
        return str(framework.request(event, required={"connectorName": str}, optional={})["connectorName"])
    except ResourceError:
        return str(event["PhysicalResourceId"])


def _create(event: Event, wanted: dict[str, Any]) -> Progress:
    own = {CREATED_BY: event["RequestId"], ASKED: asked(wanted)}
    request = {**wanted, "tags": framework.tags_of(event, wanted) | own}
    try:
        journal.make(event, lambda: kafka_connect.client().create_connector(**request)["connectorArn"])
    except kafka_connect.client().exceptions.ConflictException as error:
        return KIND.wait_name_free(wanted["connectorName"], error)
    return Waiting(f"the connector {wanted['connectorName']} is created")


def _adopt(event: Event, wanted: dict[str, Any], found: dict[str, Any], present: dict[str, str]) -> Progress:
    """Take a connector over from a construct that was renamed to this one, as it is.

    Raises ResourceError when it would have to change: a rollback couldn't give it back as it was.
    """
    name, former = wanted["connectorName"], present[OWNER]
    if found["connectorState"] not in (*_SETTLED, "FAILED"):
        return Waiting(f"the connector {name}, which is {former}'s, is {found['connectorState']}")
    changed = differences(found, wanted, present)
    if changed or found["connectorState"] == "FAILED":
        raise ResourceError(
            f"the connector {name}, which is {found['connectorState']}, is {former}'s: a construct is renamed in one "
            f"deployment and changed in another ({described(changed, found, wanted) or 'repair it first'})"
        )
    kafka_connect.adopt(event, found["connectorArn"], present)
    return _converge(event, wanted, found, present)


def _converge(event: Event, wanted: dict[str, Any], found: dict[str, Any], present: dict[str, str]) -> Progress:
    """The next step with a connector that is this resource's own."""
    name, state = wanted["connectorName"], found["connectorState"]
    operations = connector_operations.of(event, found)
    if operations.failed:
        raise ResourceError(_reason(wanted, operations.failed.get("errorInfo", {}), operations.failure(name)))
    changed = differences(found, wanted, present, operations.complete)
    made_by_us = present.get(CREATED_BY) == event["RequestId"]
    if made_by_us and state == "FAILED":
        raise ResourceError(_reason(wanted, found.get("stateDescription", {}), f"the connector {name} FAILED"))
    anew = state == "FAILED" or bool(set(changed) & set(FIXED))
    if not made_by_us and is_source(wanted):
        check_offsets(found, wanted, changed, anew=anew and state != "FAILED")
    if not made_by_us and anew:
        return KIND.stop(event, found)
    if state not in _SETTLED:
        return Waiting(f"the connector {name} is {state}")
    if operations.under_way:
        return Waiting(f"an operation on {name} is under way")
    if changed:
        return _change(event, wanted, found, changed, operations)
    kafka_connect.set_tags(found["connectorArn"], present, _final_tags(event, wanted, found, present))
    return Done(data={"Name": name, "Arn": found["connectorArn"], "Version": found["currentVersion"]})


def _final_tags(event: Event, wanted: dict[str, Any], found: dict[str, Any], present: dict[str, str]) -> dict[str, str]:
    kept = {tag: present[tag] for tag in (CREATED_BY, FORMER_OWNER) if tag in present}
    if event["RequestType"] == "Update":
        # The construct that had it is long deleted: CloudFormation does that before the next deployment.
        kept.pop(FORMER_OWNER, None)
    return framework.tags_of(event, wanted) | kept | {ASKED: asked(wanted), SHOWN: shown(found)}


def _change(
    event: Event,
    wanted: dict[str, Any],
    found: dict[str, Any],
    changed: list[str],
    operations: connector_operations.Operations,
) -> Progress:
    """Ask for the next operation. Raises ResourceError when one is complete and the connector still isn't as wanted."""
    name, arn = found["connectorName"], found["connectorArn"]
    operation, request = update(changed, wanted)
    if operation in operations.complete:
        raise ResourceError(f"{name} was read back with another {described(changed, found, wanted)} than asked for")
    # Between the two operations of one change the connector may be what nobody wants, so only the last one is judged
    # by its health; and MSK Connect changes a paused connector only without looking at it.
    in_between = operation == "UPDATE_WORKER_SETTING" and "connectorConfiguration" in changed
    if in_between or found["connectorState"] == "PAUSED":
        request["skipHealthValidation"] = True
    try:
        with connector_operations.beginning(event, operation, operations) as begun:
            answer = kafka_connect.client().update_connector(
                connectorArn=arn, currentVersion=found["currentVersion"], **request
            )
            begun(answer["connectorOperationArn"])
    except kafka_connect.client().exceptions.BadRequestException:
        # Somebody else was quicker when the version is another one by now; otherwise the request is wrong.
        again = KIND.described(arn)
        if again and all(again[key] == found[key] for key in ("currentVersion", "connectorState")):
            raise
    return Waiting(f"{operation} of {name} is under way")


def _reason(wanted: dict[str, Any], description: Any, what: str) -> str:
    """What failed, what MSK Connect says of it, and what the workers logged last."""
    said = hidden(f"{description.get('code', 'no code')}: {description.get('message', 'no reason given')}")
    return f"{what}: {said}; {connector_log.last_lines(wanted)}"


_handler = Handler(start=start, settle=settle, remove=remove, claim=journal.claim, check=journal.check)
on_event = _handler.on_event
is_complete = _handler.is_complete
