"""How to connect: user, password, and verification of the server."""

import ipaddress
import json
import os
import re
from collections.abc import Callable, Mapping

from contract import rds_ca
from spark_jobs.errors import SettingsError
from spark_jobs.options import keys
from spark_jobs.options.jdbc_settings import Password, Server
from spark_jobs.runtime import aws

ReadText = Callable[[str], str]
# The driver's timeouts, in seconds, for a connection and for an answer; its default is no limit.
_CONNECT_S, _BEYOND_STATEMENT_S = 10, 30
_ONE_CERTIFICATE = "org.postgresql.ssl.SingleCertValidatingFactory"
_JAVAS_OWN = "org.postgresql.ssl.DefaultJavaSSLFactory"
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----\n.+?\n-----END CERTIFICATE-----", re.DOTALL)
_STRICT = "verify-full"
_FILES = frozenset(("sslrootcert", "sslcert", "sslkey"))


def connection_properties(server: Server, read_text: ReadText) -> dict[str, str]:
    """Return the driver's properties for a new connection; each reads its secrets again.

    Raises SettingsError for a file or secret with invalid content, and boto3's errors.
    """
    user, password = _credentials(server, read_text)
    own = {
        "ApplicationName": "streamer",
        "connectTimeout": str(_CONNECT_S),
        "socketTimeout": str(int(server.statement_seconds) + _BEYOND_STATEMENT_S),
        "tcpKeepAlive": "true",
        "readOnly": "true",
        **tls_properties(server, read_text),
        **dict(server.extra),
    }
    named = {"user": user, "password": password}
    return own | {name: value for name, value in named.items() if value is not None}


def tls_properties(server: Server, read_text: ReadText) -> dict[str, str]:
    """Return how the server is verified: in full, by its name and its certificate, unless it is on this machine.

    `sslmode` in the URL or the driver's own settings takes precedence. Settings that name files (`sslrootcert`,
    `sslcert`, `sslkey`) keep the driver's own way of reading them.
    """
    given = server.ssl
    wanted = server.ca_file is not None or "sslrootcert" in given
    if not wanted and "sslmode" not in given and all(map(is_loopback, server.hosts)):
        return {}
    mode = {"sslmode": given.get("sslmode", _STRICT)}
    if not mode["sslmode"].lower().startswith("verify-"):
        return mode
    if given.keys() & _FILES:
        return mode | ({} if server.ca_file is None else {"sslrootcert": server.ca_file.removeprefix("file://")})
    return mode | _trusted(server, read_text)


def _trusted(server: Server, read_text: ReadText) -> dict[str, str]:
    if server.ca_file is not None:
        return _root(read_text(server.ca_file), server.ca_file)
    if not rds_ca.is_rds(server.hosts[0]):
        return {"sslfactory": _JAVAS_OWN}
    try:
        root = rds_ca.root(rds_ca.region_of(server.hosts[0]))
    except ValueError as error:
        raise SettingsError(f"{keys.JDBC_URL}: {error}") from error
    return {"sslfactory": _ONE_CERTIFICATE, "sslfactoryarg": root}


def unverified(server: Server) -> str | None:
    """Return a log line if the settings allow another server to pose as this one, or others to read the traffic."""
    given = server.ssl.get("sslmode", _STRICT)
    if given.lower() == _STRICT or all(map(is_loopback, server.hosts)):
        return None
    return f"sslmode={given}: anybody between here and {', '.join(server.hosts)} can be that server; {_STRICT} can't"


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _root(text: str, path: str) -> dict[str, str]:
    found = _CERTIFICATE.findall(text)
    if not found:
        raise SettingsError(f"{keys.JDBC_CA_FILE}={path}: no certificate (PEM) is in it")
    if len(found) == 1:  # sent to the machines that read rows, which may lack the file
        return {"sslfactory": _ONE_CERTIFICATE, "sslfactoryarg": found[0]}
    return {"sslrootcert": path.removeprefix("file://")}


def _credentials(server: Server, read_text: ReadText) -> tuple[str | None, str | None]:
    given = server.password
    if given.secret is not None:
        user, password = _of_secret(given.secret)
        return server.user or user, password
    return server.user, _password(given, read_text)


def _password(given: Password, read_text: ReadText) -> str | None:
    if given.file is not None:
        return read_text(given.file).rstrip("\r\n")
    if given.variable is not None:
        if given.variable not in os.environ:
            raise SettingsError(f"{keys.JDBC_PASSWORD_VARIABLE}={given.variable}: the environment has no such variable")
        return os.environ[given.variable]
    return given.given


def _of_secret(name: str) -> tuple[str | None, str]:
    """Return user, if the secret has one, and password: JSON as RDS writes it, or the password alone."""
    try:
        # An ARN contains its region.
        is_arn = name.startswith("arn:")
        client = (
            aws.client("secretsmanager", region_name=name.split(":")[3]) if is_arn else aws.client("secretsmanager")
        )
    except ModuleNotFoundError as error:
        raise SettingsError(f"{keys.JDBC_PASSWORD_SECRET}={name}: boto3 is missing") from error
    text = str(client.get_secret_value(SecretId=name)["SecretString"])
    try:
        found = json.loads(text)
    except ValueError:
        return None, text
    if not isinstance(found, Mapping):
        return None, text
    if "password" not in found:
        raise SettingsError(f"{keys.JDBC_PASSWORD_SECRET}={name}: the secret has no `password`")
    return found.get("username"), str(found["password"])
