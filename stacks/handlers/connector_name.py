"""A connector's name, which is its identity wherever it runs."""

from stacks.handlers.framework import Event, ResourceError


def kept(event: Event, name: str) -> str:
    """Return the name. Raises ResourceError where an update asks for another one than the connector has."""
    if event["RequestType"] == "Update" and name != event["PhysicalResourceId"]:
        raise ResourceError(
            f"connectorName can't change from {event['PhysicalResourceId']} to {name}: the replication slot, the "
            "offsets and the sink's progress go by it; remove this connector from the stack, then add the other"
        )
    return name
