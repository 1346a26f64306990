"""QuickSight as code: a data source that queries Athena under its own role, a data set, an analysis and a dashboard.

Generic resources on purpose: CDK's QuickSight module is 17 MB of types, which every synthesis and every type check
would read, and analytics/dashboard.py already produces the API's shape. The review (stacks/gate/trust.py) and the
providers' schemas check it.
"""

from typing import Any

from aws_cdk import CfnResource, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from analytics import dashboard
from settings.environment import Environment

# QuickSight refreshes at a minute of the hour or a time of day, in this time zone.
_ITEMS = "-order-items"
_CLOCK = {"TimeZone": "Etc/UTC", "TimeOfTheDay": "18:00"}


class QuickSight(Construct):
    """Data source, data set, analysis and dashboard of the order items, for one QuickSight user or group."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        environment: Environment,
        principal: str,
        role: iam.Role,
        workgroup: str,
        sql: str,
    ) -> None:
        super().__init__(scope, id_)
        self._name = environment.prefix
        self._principal = principal
        self._settings = environment.analytics
        # CDK tags only resources whose types it knows.
        self._tags = [{"Key": key, "Value": value} for key, value in sorted(environment.tags.items())]
        self._source = self._data_source(role, workgroup)
        self._data_set = self._items(sql)
        if self._settings.import_mode == "SPICE":
            self._refresh()
        charts = dashboard.definition(self._data_set.get_att("Arn").to_string())
        self._made("Analysis", _ITEMS, "AnalysisId", Name=f"{self._name} order items", Definition=charts)
        self._made(
            "Dashboard",
            _ITEMS,
            "DashboardId",
            Name=f"{self._name} order items",
            Definition=charts,
            DashboardPublishOptions={"ExportToCSVOption": {"AvailabilityStatus": "DISABLED"}},
        )

    def _data_source(self, role: iam.Role, workgroup: str) -> CfnResource:
        source = self._made(
            "DataSource",
            "-athena",
            "DataSourceId",
            Name=f"{self._name} Athena",
            Type="ATHENA",
            DataSourceParameters={"AthenaParameters": {"WorkGroup": workgroup, "RoleArn": role.role_arn}},
            SslProperties={"DisableSsl": False},
        )
        # QuickSight tests the connection when the source is created.
        source.node.add_dependency(role)
        return source

    def _items(self, sql: str) -> CfnResource:
        columns = [{"Name": name, "Type": type_} for name, type_ in dashboard.COLUMNS.items()]
        table = {
            "DataSourceArn": self._source.get_att("Arn").to_string(),
            "Name": "order items",
            "SqlQuery": sql,
            "Columns": columns,
        }
        return self._made(
            "DataSet",
            _ITEMS,
            "DataSetId",
            Name=f"{self._name} order items",
            ImportMode=self._settings.import_mode,
            PhysicalTableMap={"order-items": {"CustomSql": table}},
        )

    def _refresh(self) -> None:
        frequency = {"Interval": self._settings.refresh, **_CLOCK}
        schedule = {"ScheduleId": "refresh", "RefreshType": "FULL_REFRESH", "ScheduleFrequency": frequency}
        refresh = CfnResource(
            self,
            "Refresh",
            type="AWS::QuickSight::RefreshSchedule",
            properties={
                "AwsAccountId": Stack.of(self).account,
                "DataSetId": self._name + _ITEMS,
                "Schedule": schedule,
            },
        )
        refresh.node.add_dependency(self._data_set)

    def _made(self, kind: str, suffix: str, key: str, **properties: Any) -> CfnResource:
        """Create a resource with our principal's permissions; its id is unique per account and region, so name it."""
        return CfnResource(
            self,
            kind,
            type=f"AWS::QuickSight::{kind}",
            properties={
                "AwsAccountId": Stack.of(self).account,
                key: self._name + suffix,
                "Permissions": dashboard.granted(kind, self._principal),
                "Tags": self._tags,
                **properties,
            },
        )
