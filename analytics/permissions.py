"""What people may do with what is in QuickSight: sets of actions as QuickSight knows them, and to whom they go.

QuickSight takes no action of another kind or service. Sources: its service authorization reference, whose names these
are; the sets that AWS's own solutions grant (aws-solutions/security-insights-on-aws).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_PREFIX = "quicksight:"


def _actions(*names: str) -> tuple[str, ...]:
    return tuple(f"{_PREFIX}{name}" for name in names)


# By kind: what our principal gets. Source, data set and dashboard are this project's, so they are used and not changed;
# the analysis is there to be played with, and what is done to it lasts until the next deployment that changes it.
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
# Users and groups are in the region where the account has signed up, which needn't be the environment's.
_PRINCIPAL = re.compile(
    r"arn:aws[a-z-]*:quicksight:[a-z]{2}(-[a-z]+)+-\d:(?P<account>\d{12}):(user|group)/[^/\s*]+/\S+"
)


def granted(kind: str, principal: str) -> list[dict[str, Any]]:
    """Return what a resource of that kind (`Dashboard`) says of our principal: a list of ResourcePermission."""
    return [{"Principal": principal, "Actions": list(GRANTED[kind])}]


def account_of(principal: str) -> str | None:
    """Return the account of a QuickSight user's or group's ARN, None for any other text, such as an ARN of IAM's."""
    found = _PRINCIPAL.fullmatch(principal)
    return found["account"] if found else None


def problems(kind: str, permissions: Sequence[Mapping[str, Any]], account: str) -> Iterator[str]:
    """Yield a line for each thing that is wrong with the permissions of a resource of a kind such as `Dashboard`."""
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
