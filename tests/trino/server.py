"""A single-node Trino on loopback, with a Glue and an S3 on loopback as catalogs, configured as on EMR.

`hive` redirects Hudi tables to `hudi`, which reads them (docs/decisions/0058): a statement names a database and a table
as in Athena.
"""

import base64
import contextlib
import datetime
import decimal
import json
import struct
import time
import urllib.parse
import urllib.request
import zoneinfo
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from local.services.aws import NO_CREDENTIALS, REGION, S3, Aws
from local.services.jvm import write_properties
from local.services.processes import Command, Processes
from local.setup.ports import HOST
from tests.trino.install import Installed, installed

HEAP_MB = 1024
START_S = 180
ANSWER_S = 60
STATEMENT_S = 120
CATALOGUE = "hive"
USER = "tests"


def _instant(text: str) -> datetime.datetime:
    day, clock, *zone = text.split()
    at = datetime.datetime.fromisoformat(f"{day} {clock}")
    return at.replace(tzinfo=zoneinfo.ZoneInfo(*zone) if zone else datetime.UTC)


def _single(number: Any) -> float:
    (value,) = struct.unpack("f", struct.pack("f", float(number)))
    return float(value)


# Values that arrive as text; Trino's sessions are in UTC here, and a timestamp without a zone is UTC, too.
_VALUES: Mapping[str, Callable[[Any], Any]] = {
    "date": datetime.date.fromisoformat,
    "decimal": decimal.Decimal,
    "double": float,
    "real": _single,
    "timestamp": _instant,
    "timestamp with time zone": _instant,
    "varbinary": base64.b64decode,
}
# No proxy of the caller's environment between us and loopback.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class TrinoError(RuntimeError):
    """A statement failed; Trino's own words."""


@dataclass
class Trino:
    """The server whose files are in `folder`; `glue` and `s3` are the catalogs' endpoints."""

    folder: Path
    installed: Installed
    port: int
    glue: str
    s3: str
    name: str = "trino"

    @property
    def endpoint(self) -> str:
        return f"http://{HOST}:{self.port}"

    def prepare(self) -> Command:
        catalogues = self.folder / "catalogues"
        catalogues.mkdir(parents=True)
        write_properties(catalogues / "hudi.properties", {"connector.name": "hudi", **self._storage()})
        hive = {
            "connector.name": "hive",
            "hive.hudi-catalog-name": "hudi",
            "hive.partition-projection-enabled": "true",
            "hive.table-statistics-enabled": "false",
            # As in Athena, which reads everything under a location's prefix.
            "hive.recursive-directories": "true",
        }
        write_properties(catalogues / f"{CATALOGUE}.properties", hive | self._storage())
        settings = {
            "node.environment": "tests",
            "node.bind-ip": HOST,
            "node.internal-address": HOST,
            "coordinator": "true",
            "node-scheduler.include-coordinator": "true",
            "http-server.http.port": str(self.port),
            "discovery.uri": self.endpoint,
            "catalog.config-dir": str(catalogues),
        }
        write_properties(self.folder / "config.properties", settings)
        return Command(argv=self._argv(), folder=self.folder)

    def ready(self) -> bool:
        try:
            return not self._call(f"{self.endpoint}/v1/info")["starting"]
        except OSError:
            return False

    def ask(self, sql: str, *parameters: str) -> list[dict[str, Any]]:
        """Run one statement, with SQL values for its `?`, and return its rows. Raises TrinoError if it fails."""
        headers = {}
        if parameters:
            headers = {"X-Trino-Prepared-Statement": f"asked={urllib.parse.quote_plus(sql)}"}
            sql = f"EXECUTE asked USING {', '.join(parameters)}"
        answer = self._call(f"{self.endpoint}/v1/statement", sql.encode(), headers)
        columns: list[dict[str, Any]] = []
        found: list[list[Any]] = []
        deadline = time.monotonic() + STATEMENT_S
        while True:
            if "error" in answer:
                raise TrinoError(answer["error"]["message"])
            columns = answer.get("columns", columns)
            found += answer.get("data", [])
            if "nextUri" not in answer:
                return [_row(columns, row) for row in found]
            if time.monotonic() > deadline:
                raise TrinoError(f"no answer within {STATEMENT_S} s")
            answer = self._call(answer["nextUri"])

    def _argv(self) -> list[str]:
        options = {
            "config": "config.properties",
            "node.id": "tests",
            "plugin.dir": str(self.installed.server / "plugin"),
            "log.enable-console": "true",
            "file.encoding": "UTF-8",
            # To measure objects, JOL tries to attach a debugger to its own JVM, and fails seconds later.
            "jol.skipDynamicAttach": "true",
            "jol.skipHotspotSAAttach": "true",
        }
        return [
            str(self.installed.java),
            f"-Xmx{HEAP_MB}m",
            "-XX:+ExitOnOutOfMemoryError",
            "-XX:-UsePerfData",
            *(f"-D{name}={value}" for name, value in options.items()),
            *("-cp", f"{self.installed.server}/lib/*", "io.trino.server.TrinoServer"),
        ]

    def _storage(self) -> dict[str, str]:
        return {
            "hive.metastore": "glue",
            "hive.metastore.glue.endpoint-url": self.glue,
            "hive.metastore.glue.region": REGION,
            "hive.metastore.glue.aws-access-key": NO_CREDENTIALS,
            "hive.metastore.glue.aws-secret-key": NO_CREDENTIALS,
            # Moto ignores segments: it gives each of them everything.
            "hive.metastore.glue.partitions-segments": "1",
            "fs.native-s3.enabled": "true",
            # Reads this machine's folders, too.
            "fs.hadoop.enabled": "true",
            "s3.endpoint": self.s3,
            "s3.region": REGION,
            "s3.path-style-access": "true",
            "s3.aws-access-key": NO_CREDENTIALS,
            "s3.aws-secret-key": NO_CREDENTIALS,
        }

    def _call(self, url: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        given = {"X-Trino-User": USER, "X-Trino-Catalog": CATALOGUE, "X-Trino-Time-Zone": "UTC"}
        request = urllib.request.Request(url, data=body, headers=given | dict(headers or {}))  # noqa: S310  (our own server's)
        with _opener.open(request, timeout=ANSWER_S) as response:
            answer: dict[str, Any] = json.load(response)
        return answer


def needed() -> Installed:
    """Return the installation; skip the test without one."""
    found = installed()
    if found is None:
        pytest.skip("Trino isn't here: `./lake dev test trino` brings it")
    return found


@contextlib.contextmanager
def running(folder: Path, *services: Trino | S3 | Aws) -> Iterator[None]:
    """Run services, with their logs in a folder."""
    processes = Processes(folder, folder / "logs")
    try:
        for service in services:
            processes.run(service, timeout_s=START_S)
        yield
    finally:
        for service in services:
            processes.stop(service.name, grace_s=10)


def _row(columns: list[dict[str, Any]], row: list[Any]) -> dict[str, Any]:
    return {each["name"]: _value(each["typeSignature"], value) for each, value in zip(columns, row, strict=True)}


def _value(kind: Mapping[str, Any], value: Any) -> Any:
    """Return a value as Python has it, by Trino's type: a row as a tuple, a map as a dictionary."""
    name, of = kind["rawType"], [each["value"] for each in kind["arguments"]]
    if value is None:
        return None
    if name == "array":
        return [_value(of[0], each) for each in value]
    if name == "row":
        return tuple(_value(each["typeSignature"], one) for each, one in zip(of, value, strict=True))
    if name == "map":
        return {_value(of[0], key): _value(of[1], each) for key, each in value.items()}
    return _VALUES[name](value) if name in _VALUES else value
