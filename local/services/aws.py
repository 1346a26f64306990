"""S3 and Glue on loopback: S3Proxy, which keeps objects as files, and moto's server.

Moto keeps everything in memory, so each start fills it again.
"""

import contextlib
import functools
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from local.files import write_private
from local.services.jvm import java_command, write_properties
from local.services.processes import Command
from local.setup.ports import HOST, accepts_connections

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_s3 import S3Client

HEAP_MB = 256
REGION = "us-east-1"
# The endpoints on loopback check no credentials, but clients require some.
NO_CREDENTIALS = "local"
ENVIRONMENT = {"AWS_ACCESS_KEY_ID": NO_CREDENTIALS, "AWS_SECRET_ACCESS_KEY": NO_CREDENTIALS, "AWS_REGION": REGION}
# Ignore a proxy in the caller's environment: the endpoint is on loopback.
CLIENT_CONFIG = Config(proxies={}, connect_timeout=5, read_timeout=20, retries={"max_attempts": 3})
LOGBACK = """<configuration>
  <appender name="stdout" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d %level %logger{0}: %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="stdout"/></root>
</configuration>
"""


class Loopback:
    """A server that replaces AWS services, with its files in `folder`."""

    def __init__(self, folder: Path, *, port: int) -> None:
        self._folder = folder
        self._port = port
        self.endpoint = f"http://{HOST}:{port}"

    def _answers(self, ask: Callable[[], object]) -> bool:
        if accepts_connections(self._port):
            with contextlib.suppress(BotoCoreError, ClientError):
                ask()
                return True
        return False


class S3(Loopback):
    """S3Proxy, which has one sub-folder of `objects` per bucket."""

    name = "s3"

    def prepare(self) -> Command:
        objects = self._folder / "objects"
        objects.mkdir(parents=True, exist_ok=True)
        configuration = self._folder / "s3proxy.properties"
        write_properties(configuration, self.properties(objects))
        logback = self._folder / "logback.xml"
        write_private(logback, LOGBACK)
        argv = java_command(
            jars="s3proxy",
            main="org.gaul.s3proxy.Main",
            arguments=["--properties", str(configuration)],
            heap_mb=HEAP_MB,
            options={"logback.configurationFile": str(logback)},
        )
        return Command(argv=argv, folder=self._folder)

    def holds(self, bucket: str, folder: str) -> bool:
        """Tell whether the bucket has something in a folder, whether or not the service runs."""
        return (self._folder / "objects" / bucket / folder).exists()

    def properties(self, objects: Path) -> dict[str, str]:
        return {
            "s3proxy.endpoint": self.endpoint,
            "s3proxy.authorization": "none",
            "jclouds.provider": "filesystem-nio2",
            "jclouds.filesystem.basedir": str(objects),
        }

    def ready(self) -> bool:
        return self._answers(self.client().list_buckets)

    def create_buckets(self, names: Iterable[str]) -> None:
        """Create the missing buckets."""
        client = self.client()
        present = {bucket["Name"] for bucket in client.list_buckets()["Buckets"]}
        for name in names:
            if name not in present:
                client.create_bucket(Bucket=name)

    def count_objects(self, bucket: str, prefix: str) -> int:
        pages = self.client().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        return sum(page["KeyCount"] for page in pages)

    def client(self) -> "S3Client":
        client: S3Client = loopback_client("s3", self.endpoint)
        return client


@functools.cache
def loopback_client(service: str, endpoint: str) -> Any:
    """Return a service's boto3 client with the credentials for loopback: one per endpoint, since creating one is slow.

    Threads may share it, but not the session that creates it.
    """
    session: Any = boto3.session.Session(NO_CREDENTIALS, NO_CREDENTIALS, region_name=REGION)
    return session.client(service, endpoint_url=endpoint, config=CLIENT_CONFIG)


class Aws(Loopback):
    """Moto's server, for every AWS service but S3."""

    name = "moto"

    def prepare(self) -> Command:
        self._folder.mkdir(parents=True, exist_ok=True)
        argv = [sys.executable, "-m", "moto.server", "-H", HOST, "-p", str(self._port)]
        # A page in a browser must not read it.
        environment = {"AWS_DEFAULT_REGION": REGION, "MOTO_DISABLE_GLOBAL_CORS": "true"}
        return Command(argv=argv, folder=self._folder, environment=environment)

    def ready(self) -> bool:
        return self._answers(self.glue().get_databases)

    def create_database(self, name: str) -> None:
        """Create a Glue database, unless it exists."""
        if name not in {database["Name"] for database in self.glue().get_databases()["DatabaseList"]}:
            self.glue().create_database(DatabaseInput={"Name": name})

    def tables(self, database: str) -> dict[str, Mapping[str, str]]:
        """Return the parameters of a Glue database's tables, by name."""
        pages = self.glue().get_paginator("get_tables").paginate(DatabaseName=database)
        return {table["Name"]: table.get("Parameters", {}) for page in pages for table in page["TableList"]}

    def glue(self) -> "GlueClient":
        client: GlueClient = loopback_client("glue", self.endpoint)
        return client
