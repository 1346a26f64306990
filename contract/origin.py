"""The source cluster's origin in a template: no deployment may replace a cluster, with its data, unintentionally."""

from collections.abc import Mapping
from typing import Any

CLUSTER, IDENTIFIER = "AWS::RDS::DBCluster", "DBClusterIdentifier"
# AWS::RDS::DBCluster: "Update requires: Replacement" for each of them.
_ORIGIN = ("SnapshotIdentifier", "SourceDBClusterIdentifier", "RestoreToTime", "UseLatestRestorableTime")


def cluster(template: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the cluster's properties, None if the template has none."""
    resources = template.get("Resources", {}).values()
    return next((each["Properties"] for each in resources if each["Type"] == CLUSTER), None)


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether a deployment would make another cluster of these properties."""
    return any(before.get(key) != after.get(key) for key in (IDENTIFIER, *_ORIGIN))


def refusal(before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    """Return why a cluster must not become another one; None if it stays, or a restore under another name replaces it.

    It would be replaced by an empty one if [database.restore] was removed from the file, by another copy if it was
    changed.
    """
    restored = any(after.get(key) for key in _ORIGIN)
    if not changed(before, after) or (restored and before.get(IDENTIFIER) != after.get(IDENTIFIER)):
        return None
    return (
        f"database.restore has changed: the cluster {before.get(IDENTIFIER)}, with its data, would be replaced by "
        f"{'another copy' if restored else 'an empty one'}. Put it back as it was deployed; to restore again, give it "
        "another `name` (docs/aws/restore.md)"
    )
