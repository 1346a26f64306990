"""Permissions on QuickSight's resources: sets of actions, and who gets them.

QuickSight accepts no actions of other kinds or services. Sources: its service authorization reference, for the names;
the sets that AWS's own solutions grant (aws-solutions/security-insights-on-aws).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_PREFIX = "quicksight:"


def _actions(*names: str) -> tuple[str, ...]:
    return tuple(f"{_PREFIX}{name}" for name in names)


# By kind: what our principal gets. This project owns source, data set and dashboard, so they are read-only;
# the analysis may be changed, until the next deployment that changes it.
GRANTED: Mapping[str, tuple[str, ...]] = {
    "DataSource": _actions("DescribeDataSource", "DescribeDataSourcePermissions", "PassDataSource"),
    "DataSet": _actions(
        "DescribeDataSet", "DescribeDataSetPermissions", "PassDataSet", "DescribeIngestion", "ListIngestions"
    ),
    "Analysis": _actions(
        "DescribeAnalysis",
        "DescribeAnalysisPermissions",
        "QueryAnalysis",
        "UpdateAnalysis",
        "UpdateAnalysisPermissions",
        "RestoreAnalysis",
        "DeleteAnalysis",
    ),
    "Dashboard": _actions("DescribeDashboard", "ListDashboardVersions", "QueryDashboard"),
}
# Users and groups belong to the region where the account signed up, which may differ from the environment's.
_PRINCIPAL = re.compile(
    r"arn:aws[a-z-]*:quicksight:[a-z]{2}(-[a-z]+)+-\d:(?P<account>\d{12}):(user|group)/[^/\s*]+/\S+"
)


def granted(kind: str, principal: str) -> list[dict[str, Any]]:
    """Return our principal's permissions on a resource of this kind (`Dashboard`): a list of ResourcePermission."""
    return [{"Principal": principal, "Actions": list(GRANTED[kind])}]


def account_of(principal: str) -> str | None:
    """Return the account in a QuickSight user's or group's ARN; None for any other text, such as an IAM ARN."""
    found = _PRINCIPAL.fullmatch(principal)
    return found["account"] if found else None


def problems(kind: str, permissions: Sequence[Mapping[str, Any]], account: str) -> Iterator[str]:
    """Yield a line for each thing wrong with the permissions of a resource of this kind."""
    for each in permissions:
        principal = str(each.get("Principal"))
        theirs = account_of(principal)
        if theirs is None:
            yield f"{principal} is no user or group of QuickSight, arn:aws:quicksight:<region>:<account>:…"
        elif theirs != account:
            yield f"{principal} is of another account than {account}"
        for action in each.get("Actions", []):
            if action not in GRANTED[kind]:
                yield f"grants {action}, which isn't among what a {kind} grants (analytics/permissions.py)"
