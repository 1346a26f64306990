"""What people may do with what is in QuickSight: sets of actions as QuickSight knows them, and to whom they go.

QuickSight takes no action of another kind or service. Sources: its service authorization reference, whose names these
are; the sets that AWS's own solutions grant (aws-solutions/security-insights-on-aws).
"""

import re
from collections.abc import Mapping
from typing import Any

_PREFIX = "quicksight:"


def _actions(*names: str) -> tuple[str, ...]:
    return tuple(f"{_PREFIX}{name}" for name in names)


_USE_SOURCE = ("DescribeDataSource", "DescribeDataSourcePermissions", "PassDataSource")
_USE_SET = ("DescribeDataSet", "DescribeDataSetPermissions", "PassDataSet", "DescribeIngestion", "ListIngestions")
_SEE = ("DescribeDashboard", "ListDashboardVersions", "QueryDashboard")
_WRITE_ANALYSIS = (
    "DescribeAnalysis",
    "DescribeAnalysisPermissions",
    "QueryAnalysis",
    "UpdateAnalysis",
    "UpdateAnalysisPermissions",
    "RestoreAnalysis",
    "DeleteAnalysis",
)
# By kind: what our principal gets. Source, data set and dashboard are this project's, so they are used and not changed;
# the analysis is there to be played with, and what is done to it lasts until the next deployment that changes it.
GRANTED: Mapping[str, tuple[str, ...]] = {
    "DataSource": _actions(*_USE_SOURCE),
    "DataSet": _actions(*_USE_SET),
    "Analysis": _actions(*_WRITE_ANALYSIS),
    "Dashboard": _actions(*_SEE),
}
# By kind: every action that there is.
KNOWN: Mapping[str, frozenset[str]] = {
    "DataSource": frozenset(
        _actions(*_USE_SOURCE, "UpdateDataSource", "DeleteDataSource", "UpdateDataSourcePermissions")
    ),
    "DataSet": frozenset(
        _actions(
            *_USE_SET,
            "UpdateDataSet",
            "DeleteDataSet",
            "CreateIngestion",
            "CancelIngestion",
            "UpdateDataSetPermissions",
        )
    ),
    "Analysis": frozenset(_actions(*_WRITE_ANALYSIS)),
    "Dashboard": frozenset(
        _actions(
            *_SEE,
            "UpdateDashboard",
            "DeleteDashboard",
            "DescribeDashboardPermissions",
            "UpdateDashboardPermissions",
            "UpdateDashboardPublishedVersion",
        )
    ),
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
