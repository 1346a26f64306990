"""Custom resource: an MSK Connect connector. Its name is its identity: slot, offsets, consumer group, bookkeeping.

Request: CreateConnector's own, in the API's names. What UpdateConnector supports is changed in place; any other change
deletes the connector and creates it again under its name. Attributes: `Name`, `Arn`, `Version`.
"""

from typing import Any, Self

from contract.tags import ASKED, CREATED_BY, FORMER_OWNER, OWNER, SHOWN
from plugins.connector_names import FIXED
from stacks.handlers import framework, life_cycle, worker_log
from stacks.handlers.framework import Done, Event, Progress, ResourceError, Waiting
from stacks.handlers.life_cycle import Found
from stacks.handlers.msk_connect import changes, resource
from stacks.handlers.msk_connect.resource import MskResource, Operations
from stacks.handlers.worker_log import hidden

_SETTLED = ("RUNNING", "PAUSED")


def start(event: Event) -> str:
    return changes.kept_name(event, _request(event)["connectorName"])


class Connector(MskResource):
    """A connector. `wanted` is CreateConnector's request."""

    KIND, NAME, LABEL = "connector", "connectorName", "connector"

    @classmethod
    def wanted_by(cls, event: Event) -> Self:
        wanted = _request(event)
        return cls(event, wanted, wanted["connectorName"])

    @classmethod
    def deleted_by(cls, event: Event) -> Self:
        """Find it by name, even in an otherwise invalid request: a cancelled creation's id is CloudFormation's own."""
        known = {"connectorName": event["PhysicalResourceId"]}
        wanted = framework.if_accepted(lambda: framework.request(event, required={"connectorName": str})) or known
        return cls(event, wanted, str(wanted["connectorName"]))

    def make(self) -> Progress:
        own = {CREATED_BY: self.event["RequestId"], ASKED: changes.asked(self.wanted)}
        request: dict[str, Any] = {**self.wanted, "tags": framework.tags_of(self.event, self.wanted) | own}
        return self.still_unseen() or self.made_by(
            lambda: resource.changing().create_connector(**request)["connectorArn"]
        )

    def adopt(self, found: Found) -> Waiting | None:
        """Take over a connector that needs no change: a changed one couldn't be handed back in its old state."""
        state, former = self.state(found.shown), found.tags[OWNER]
        if state not in (*_SETTLED, "FAILED"):
            return Waiting(f"{self.what}, which is {former}'s, is {state}")
        changed = changes.differences(found.shown, self.wanted, found.tags)
        if changed or state == "FAILED":
            what = changes.described(changed, found.shown, self.wanted) or "repair it first"
            raise ResourceError(
                f"{self.what}, which is {state}, is {former}'s: a construct is renamed in one "
                f"deployment and changed in another ({what})"
            )
        return super().adopt(found)

    def next_step(self, found: Found) -> Progress:
        state, operations = self.state(found.shown), resource.operations_of(self.event, found.shown)
        if failed := operations.failed:
            what = f"{failed['connectorOperationType']} of {self.name} ended in {failed['connectorOperationState']}"
            raise ResourceError(self._reason(failed.get("errorInfo", {}), what))
        changed = changes.differences(found.shown, self.wanted, found.tags, operations.complete)
        made_by_us = found.tags.get(CREATED_BY) == self.event["RequestId"]
        if made_by_us and state == "FAILED":
            raise ResourceError(self._reason(found.shown.get("stateDescription", {}), f"{self.what} FAILED"))
        recreated = state == "FAILED" or bool(set(changed) & set(FIXED))
        if not made_by_us and changes.is_source(self.wanted):
            changes.check_offsets(found.shown, self.wanted, changed, recreated=recreated and state != "FAILED")
        if not made_by_us and recreated:
            return self.delete(found)
        if state not in _SETTLED:
            return Waiting(f"{self.what} is {state}")
        if operations.under_way:
            return Waiting(f"an operation on {self.name} is under way")
        if changed:
            return self._change(found, changed, operations)
        self.set_tags(found, self._final_tags(found))
        data = {"Name": self.name, "Arn": self.arn(found.shown), "Version": found.shown["currentVersion"]}
        return Done(data=data)

    def _final_tags(self, found: Found) -> dict[str, str]:
        kept = {tag: found.tags[tag] for tag in (CREATED_BY, FORMER_OWNER) if tag in found.tags}
        if self.event["RequestType"] == "Update":
            # The construct that owned it is long deleted: CloudFormation does that before the next deployment.
            kept.pop(FORMER_OWNER, None)
        hashes = {ASKED: changes.asked(self.wanted), SHOWN: changes.shown(found.shown)}
        return framework.tags_of(self.event, self.wanted) | kept | hashes

    def _change(self, found: Found, changed: list[str], operations: Operations) -> Progress:
        """Request the next operation. Raises ResourceError if it is complete and the connector still differs."""
        arn = self.arn(found.shown)
        operation, request = changes.update(changed, self.wanted)
        if operation in operations.complete:
            differs = changes.described(changed, found.shown, self.wanted)
            raise ResourceError(f"{self.name} was read back with another {differs} than asked for")
        # Between the two operations of one change the connector may be in a state that no request wants, so judge its
        # health only after the last one; and MSK Connect changes a paused connector only without a health check.
        in_between = operation == "UPDATE_WORKER_SETTING" and "connectorConfiguration" in changed
        if in_between or self.state(found.shown) == "PAUSED":
            request["skipHealthValidation"] = True
        request |= {"connectorArn": arn, "currentVersion": found.shown["currentVersion"]}
        try:
            resource.begin_operation(
                self.event, operation, operations, lambda: resource.changing().update_connector(**request)
            )
        except resource.client().exceptions.BadRequestException:
            # A changed version or state means that someone else was quicker, or this request's own attempt whose answer
            # was lost; otherwise the request is wrong.
            again = self.described(arn)
            same = again and all(again[key] == found.shown[key] for key in ("currentVersion", "connectorState"))
            if same and not resource.may_have_begun(self.event, operation):
                raise
        return Waiting(f"{operation} of {self.name} is under way")

    def _reason(self, description: Any, what: str) -> str:
        """State what failed, MSK Connect's explanation, and what the workers logged last."""
        said = hidden(f"{description.get('code', 'no code')}: {description.get('message', 'no reason given')}")
        return f"{what}: {said}; {worker_log.last_lines(self.wanted)}"


def _request(event: Event) -> dict[str, Any]:
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


on_event, is_complete = life_cycle.handler(start, Connector).functions
