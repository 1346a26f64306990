"""The request for a connector on EKS."""

import json
from typing import Any

from stacks.connectors.manifests import objects
from tests.stacks.environments import group

NAME = "dev-cdc-lake-orders-source"
CONFIGURATION = {"connector.class": "io.debezium", "database.hostname": "db.example"}


def eks_request(*, image: str | None = None, offsets: str | None = None, **changes: str) -> dict[str, Any]:
    """A connector on EKS, with another image, topic of offsets or configuration."""
    text = json.dumps(objects(group(NAME)))
    if image:
        text = text.replace(group(NAME).image, image)
    if offsets:
        text = text.replace(f"__cdc_lake_offsets_{NAME}-1", offsets)
    return {
        "cluster": {"name": "dev", "endpoint": "https://example", "authority": ""},
        "connectorName": NAME,
        "objects": json.loads(text),
        "connectorConfiguration": CONFIGURATION | changes,
    }
