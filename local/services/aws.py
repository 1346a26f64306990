"""Glue and Secrets Manager on loopback: moto's server. It keeps everything in memory, so each start fills it again."""

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from local.services.processes import Command
from local.services.s3 import REGION, Loopback, loopback_client
from local.setup.ports import HOST

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_secretsmanager import SecretsManagerClient


class Aws(Loopback):
    """Moto's server, for every AWS service but S3."""

    name = "moto"

    def prepare(self) -> Command:
        self._folder.mkdir(parents=True, exist_ok=True)
        argv = [sys.executable, "-m", "moto.server", "-H", HOST, "-p", str(self._port)]
        return Command(argv=argv, folder=self._folder, environment={"AWS_DEFAULT_REGION": REGION})

    def _ask(self) -> object:
        return self.glue().get_databases()

    def create_database(self, name: str) -> None:
        """Create a Glue database, unless it exists."""
        if name not in {database["Name"] for database in self.glue().get_databases()["DatabaseList"]}:
            self.glue().create_database(DatabaseInput={"Name": name})

    def tables(self, database: str) -> set[str]:
        pages = self.glue().get_paginator("get_tables").paginate(DatabaseName=database)
        return {table["Name"] for page in pages for table in page["TableList"]}

    def put_secret(self, name: str, parameters: Mapping[str, Any]) -> None:
        """Store a database user's secret in the format of RDS secrets."""
        client = self.secrets()
        kept = {key: parameters[key] for key in ("host", "port", "dbname", "password")}
        value = json.dumps({"engine": "postgres", "username": parameters["user"], **kept})
        try:
            client.create_secret(Name=name, SecretString=value)
        except client.exceptions.ResourceExistsException:
            client.put_secret_value(SecretId=name, SecretString=value)

    def glue(self) -> "GlueClient":
        client: GlueClient = loopback_client("glue", self.endpoint)
        return client

    def secrets(self) -> "SecretsManagerClient":
        client: SecretsManagerClient = loopback_client("secretsmanager", self.endpoint)
        return client
