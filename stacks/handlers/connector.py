"""Custom resource: a connector of MSK Connect. Its name is its identity: slot, offsets, consumer group, bookkeeping.

Request: CreateConnector's own, in the API's names. What UpdateConnector takes is changed in place; for anything else
the connector is stopped and made anew under its name. Attributes: `Name`, `Arn`, `Version`.
"""

from typing import TYPE_CHECKING, Any

from stacks.handlers import connector_log, framework, kafka_connect
from stacks.handlers.connector_changes import FIXED, described, differences, is_source, update
from stacks.handlers.framework import Done, Event, Handler, Progress, ResourceError, Waiting
from stacks.handlers.worker_configuration import content

if TYPE_CHECKING:
    from mypy_boto3_kafkaconnect.type_defs import ConnectorOperationSummaryTypeDef, DescribeConnectorResponseTypeDef

# The request that made the connector, and the latest one that works on it: an update that is cancelled leaves its
# waiter running, which must not go on against the one that rolls back.
CREATED_BY_TAG = "cdc-lake-created-by"
CLAIMED_BY_TAG = "cdc-lake-claimed-by"
OFFSET_TOPIC = "offset.storage.topic"
_SETTLED = ("RUNNING", "PAUSED")
_UNDER_WAY = ("PENDING", "UPDATE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS", "RESTART_IN_PROGRESS")
_FAILED = ("UPDATE_FAILED", "ROLLBACK_FAILED", "ROLLBACK_COMPLETE")


def start(event: Event) -> dict[str, Any]:
    """Check the request against the connector that is there, or create it.

    `Claim` orders requests by time; `Since` is the creation time of the last operation before this request;
    `MayCreate` says whether `settle` may make the connector when it finds none.
    """
    wanted = _wanted(event)
    name, updating = wanted["connectorName"], event["RequestType"] == "Update"
    if updating and name != event["PhysicalResourceId"]:
        raise ResourceError(
            f"connectorName can't change from {event['PhysicalResourceId']} to {name}: the replication slot, the "
            "offsets and the sink's progress go by it; remove this connector from the stack, then add the other"
        )
    started = int(framework.now())
    result = {"PhysicalResourceId": name, "Started": started, "Claim": f"{started:010d} {event['RequestId']}"}
    found = _find(name)
    if found is None:
        return {**result, "MayCreate": not _create(event, wanted, result["Claim"]) or updating, "Since": 0}
    if found["connectorState"] == "DELETING":
        return {**result, "MayCreate": True, "Since": 0}
    present = kafka_connect.tags(found["connectorArn"])
    framework.check_owner(event, name, present)
    _check_offsets(found, wanted)
    since = max((operation["creationTime"].timestamp() for operation in _operations(found)), default=0)
    redelivered = present.get(CREATED_BY_TAG) == event["RequestId"]
    return {**result, "MayCreate": updating or not redelivered, "Since": since}


def settle(event: Event) -> Progress:
    """Take the next step from the connector as it is to the one that is wanted."""
    wanted = _wanted(event)
    name = wanted["connectorName"]
    found = _find(name)
    if found is None:
        return _create_again(event, wanted)
    if found["connectorState"] == "DELETING":
        return Waiting(f"the connector {name} is being deleted")
    present = kafka_connect.tags(found["connectorArn"])
    framework.check_owner(event, name, present)
    _claim(event, found, present)
    operations = _operations(found)
    began = [operation for operation in operations if operation["creationTime"].timestamp() > event["Since"]]
    _check_operations(wanted, found, began)
    changed = differences(found, wanted)
    made_by_us = present.get(CREATED_BY_TAG) == event["RequestId"]
    if found["connectorState"] == "FAILED" and made_by_us:
        raise ResourceError(_reason(wanted, found.get("stateDescription", {}), f"the connector {name} FAILED"))
    if not made_by_us and (found["connectorState"] == "FAILED" or set(changed) & set(FIXED)):
        return _stop(found)
    if found["connectorState"] not in _SETTLED:
        return Waiting(f"the connector {name} is {found['connectorState']}")
    if any(operation["connectorOperationState"] in _UNDER_WAY for operation in operations):
        return Waiting(f"an operation on {name} is under way")
    if changed:
        return _change(wanted, found, changed, {operation["connectorOperationType"] for operation in began})
    history = {tag: present[tag] for tag in (CREATED_BY_TAG, CLAIMED_BY_TAG) if tag in present}
    kafka_connect.set_tags(found["connectorArn"], present, framework.tags_of(event, wanted) | history)
    return Done(data={"Name": name, "Arn": found["connectorArn"], "Version": found["currentVersion"]})


def remove(event: Event) -> Progress:
    """Delete the connector; one that is gone or another's is nothing to do. Slot and offsets stay."""
    name = event["PhysicalResourceId"]
    found = _find(name)
    if found is None:
        return Done()
    if found["connectorState"] == "DELETING":
        return Waiting(f"the connector {name} is being deleted")
    if kafka_connect.tags(found["connectorArn"]).get(framework.OWNER_TAG) != framework.owner(event):
        return Done()
    return _stop(found)


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
        # Another custom resource's attribute arrives as a string.
        if str(holder.get("revision", "")).isdecimal():
            holder["revision"] = int(holder["revision"])
    return wanted


def _find(name: str) -> "DescribeConnectorResponseTypeDef | None":
    """Describe the connector of this whole name; the API filters by prefix only."""
    summaries = [
        summary
        for page in kafka_connect.client().get_paginator("list_connectors").paginate(connectorNamePrefix=name)
        for summary in page.get("connectors", [])
        if summary["connectorName"] == name
    ]
    for summary in summaries:
        try:
            return kafka_connect.client().describe_connector(connectorArn=summary["connectorArn"])
        except kafka_connect.client().exceptions.NotFoundException:
            continue
    return None


def _create(event: Event, wanted: dict[str, Any], claim: str) -> bool:
    """Create the connector; False when it has to be tried again, because AWS is busy."""
    tags = framework.tags_of(event, wanted) | {CREATED_BY_TAG: event["RequestId"], CLAIMED_BY_TAG: claim}
    try:
        kafka_connect.client().create_connector(**{**wanted, "tags": tags})
    except kafka_connect.client().exceptions.ConflictException:
        # It is there after all: another delivery of this event, or a stranger, which `settle` looks at.
        return True
    except framework.CALL_ERRORS as error:
        if not framework.passing(error):
            raise
        return False
    return True


def _create_again(event: Event, wanted: dict[str, Any]) -> Progress:
    """Create what was stopped for an update, or what could not be created at once.

    A creation's connector that vanished was deleted with its stack; made again it would be an orphan.
    """
    if not event["MayCreate"]:
        raise ResourceError(f"the connector {wanted['connectorName']} was deleted while it was created")
    _create(event, wanted, event["Claim"])
    return Waiting(f"the connector {wanted['connectorName']} is created")


def _claim(event: Event, found: "DescribeConnectorResponseTypeDef", present: dict[str, str]) -> None:
    """Take the connector over from an earlier request. Raises ResourceError when a later one has it."""
    claimed = present.get(CLAIMED_BY_TAG, "")
    if claimed.endswith(event["RequestId"]):
        return
    if claimed > event["Claim"]:
        raise ResourceError(f"a later request has taken over the connector {found['connectorName']}")
    kafka_connect.client().tag_resource(resourceArn=found["connectorArn"], tags={CLAIMED_BY_TAG: event["Claim"]})
    present[CLAIMED_BY_TAG] = event["Claim"]


def _operations(found: "DescribeConnectorResponseTypeDef") -> "list[ConnectorOperationSummaryTypeDef]":
    """The connector's operations, the latest last."""
    paginator = kafka_connect.client().get_paginator("list_connector_operations")
    pages = paginator.paginate(connectorArn=found["connectorArn"])
    return sorted(
        (operation for page in pages for operation in page.get("connectorOperations", [])),
        key=lambda operation: operation["creationTime"],
    )


def _check_operations(
    wanted: dict[str, Any],
    found: "DescribeConnectorResponseTypeDef",
    began: "list[ConnectorOperationSummaryTypeDef]",
) -> None:
    """Raise ResourceError with the reason when an operation of this request failed: it was rolled back, or wasn't."""
    for operation in began:
        if operation["connectorOperationState"] in _FAILED:
            arn = operation["connectorOperationArn"]
            error = kafka_connect.client().describe_connector_operation(connectorOperationArn=arn).get("errorInfo", {})
            what = f"{operation['connectorOperationType']} of {found['connectorName']}"
            state = f"{what} ended in {operation['connectorOperationState']}"
            raise ResourceError(_reason(wanted, error, state))


def _change(
    wanted: dict[str, Any], found: "DescribeConnectorResponseTypeDef", changed: list[str], complete: set[str]
) -> Progress:
    """Ask for the next operation. Raises ResourceError when one is complete and the connector still isn't as wanted."""
    name = found["connectorName"]
    operation, request = update(changed, wanted)
    if set(changed) & set(FIXED) or operation in complete:
        raise ResourceError(f"{name} was read back with another {described(changed, found, wanted)} than asked for")
    # Between the two operations of one change the connector may be what nobody wants, so only the last one is judged
    # by its health; and MSK Connect changes a paused connector only without looking at it.
    in_between = operation == "UPDATE_WORKER_SETTING" and "connectorConfiguration" in changed
    if in_between or found["connectorState"] == "PAUSED":
        request["skipHealthValidation"] = True
    try:
        kafka_connect.client().update_connector(
            connectorArn=found["connectorArn"], currentVersion=found["currentVersion"], **request
        )
    except kafka_connect.client().exceptions.BadRequestException:
        # Somebody else was quicker when the version is another one by now; otherwise the request is wrong.
        again = _find(name)
        if again and all(again[key] == found[key] for key in ("currentVersion", "connectorState")):
            raise
    return Waiting(f"{operation} of {name} is under way")


def _stop(found: "DescribeConnectorResponseTypeDef") -> Progress:
    """Delete a connector; one that can't be deleted in its present state is tried again."""
    try:
        kafka_connect.client().delete_connector(connectorArn=found["connectorArn"])
    except kafka_connect.client().exceptions.NotFoundException:
        pass
    except kafka_connect.client().exceptions.BadRequestException:
        if found["connectorState"] in (*_SETTLED, "FAILED"):
            raise
        return Waiting(f"the connector {found['connectorName']} can't be deleted while {found['connectorState']}")
    return Waiting(f"the connector {found['connectorName']} is being deleted")


def _check_offsets(found: "DescribeConnectorResponseTypeDef", wanted: dict[str, Any]) -> None:
    """Raise ResourceError for a change after which a source would begin again: its offsets' topic must stay.

    Without a topic of its own a connector's offsets go with it. One that FAILED is made anew even so: it is the only
    way on, the slot holds what it hasn't read, and a new snapshot repeats what it has.
    """
    if not is_source(wanted):
        return
    changed = set(differences(found, wanted))
    kept, next_one = _offset_topic(found.get("workerConfiguration")), _offset_topic(wanted.get("workerConfiguration"))
    anew = changed & set(FIXED) and found["connectorState"] != "FAILED"
    if kept == next_one and (kept or not anew):
        return
    raise ResourceError(
        f"a change of {', '.join(sorted(changed))} would lose the offsets of {found['connectorName']}, which are in "
        f"{kept or 'a topic that goes with it'}: the worker configuration must set {OFFSET_TOPIC} and keep it"
    )


def _offset_topic(worker_configuration: Any) -> str:
    """The topic that a worker configuration names for offsets; empty when there is none."""
    if not worker_configuration:
        return ""
    lines = content(worker_configuration["workerConfigurationArn"]).splitlines()
    return dict(line.partition("=")[::2] for line in lines).get(OFFSET_TOPIC, "")


def _reason(wanted: dict[str, Any], description: Any, what: str) -> str:
    """What failed, what MSK Connect says of it, and what the workers logged last."""
    said = f"{description.get('code', 'no code')}: {description.get('message', 'no reason given')}"
    return f"{what}: {said}; {connector_log.last_lines(wanted)}"


_handler = Handler(start=start, settle=settle, remove=remove)
on_event = _handler.on_event
is_complete = _handler.is_complete
