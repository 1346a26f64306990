"""Lake Formation's grants on one database and its tables, for accounts that use it for access control."""

from collections.abc import Sequence

from aws_cdk import Stack
from aws_cdk import aws_lakeformation as lakeformation
from constructs import Construct

_Permissions = lakeformation.CfnPrincipalPermissions


class TableGrants(Construct):
    """Rights of a role or user, by ARN, on a database and each of its tables, without grant option."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        principal: str,
        database: str,
        on_database: Sequence[str],
        on_tables: Sequence[str],
    ) -> None:
        super().__init__(scope, id_)
        self._principal = principal
        catalogue = Stack.of(self).account
        itself = _Permissions.DatabaseResourceProperty(catalog_id=catalogue, name=database)
        tables = _Permissions.TableResourceProperty(catalog_id=catalogue, database_name=database, table_wildcard={})
        self._grant("Database", _Permissions.ResourceProperty(database=itself), on_database)
        self._grant("Tables", _Permissions.ResourceProperty(table=tables), on_tables)

    def _grant(self, what: str, resource: _Permissions.ResourceProperty, permissions: Sequence[str]) -> None:
        _Permissions(
            self,
            what,
            principal=_Permissions.DataLakePrincipalProperty(data_lake_principal_identifier=self._principal),
            resource=resource,
            permissions=list(permissions),
            permissions_with_grant_option=[],
        )
