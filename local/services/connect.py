"""A Kafka Connect worker in distributed mode: Debezium and, where given, the Lenses sink or a JDBC source.

No package registry has those two: the user gives a release's path, and it joins the worker's plugins.
"""

import contextlib
import re
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from contract.sizes import LOCAL_HEAP_BYTES, MIB
from local.errors import PlatformError
from local.services.aws import ENVIRONMENT
from local.services.connect_api import ConnectApi
from local.services.jvm import java_command, log4j_options, write_properties
from local.services.processes import Command
from local.setup.jars import jar_folder, unpack
from local.setup.ports import HOST
from plugins.connector_properties import JSON_CONVERTER, SESSION
from plugins.polling.jdbc_settings import AIVEN, CONFLUENT
from plugins.releases.archive import DAMAGE, RESOURCES_JAR, write_resources
from plugins.sink.sink_connector import CONNECTOR_CLASS
from plugins.workers.connect_workers import OF_SOURCES, resources

HEAP_MB = LOCAL_HEAP_BYTES // MIB
# The worker's own topics and group; the worker itself creates only the first and the last topic.
CONFIG_TOPIC, OFFSET_TOPIC, STATUS_TOPIC = ("connect-configs", "connect-offsets", "connect-status")
GROUP = "connect-cluster"
# The clients that a connector brings, and the secret part of a login.
CLIENTS = ("producer", "consumer", "admin")
SECRET_PART = "sasl.jaas.config"  # noqa: S105  (the property's name)


@dataclass(frozen=True, kw_only=True)
class UserPlugin:
    """Such a connector: its plugin folder, the variable that names its release, and its display name.

    `classes`: the connector's class by a pattern of its jar's file name.
    """

    folder: str
    variable: str
    called: str
    classes: Mapping[str, str]

    def check(self, release: Path) -> None:
        """Check a release. Raises PlatformError with one line."""
        if release.exists() and not (release.is_dir() or release.is_file()):
            raise PlatformError(f"{self.variable}={release} is neither a folder nor a zip archive but a pipe or device")
        with self._readable(release):
            found = _jars(release)
        if not any(fnmatch(name, jar) for name, _ in found for jar in self.classes):
            wanted = " or ".join(self.classes)
            raise PlatformError(f"{self.variable}={release} holds no {wanted}: is it {self.called}'s release?")

    def install(self, plugins: Path, release: Path | None) -> None:
        """Put the release's files into the plugin path, replacing an earlier start's. Raises PlatformError."""
        target = plugins / self.folder
        shutil.rmtree(target, ignore_errors=True)
        if release is None:
            return
        self.check(release)
        unfinished = plugins.with_name(f"{self.folder}.new")
        shutil.rmtree(unfinished, ignore_errors=True)
        with self._readable(release):
            if release.is_dir():
                shutil.copytree(release, unfinished)
            else:
                with zipfile.ZipFile(release) as archive:
                    archive.extractall(unfinished)  # noqa: S202  (a zip archive, whose names can't lead out)
        # Connect treats each folder in the plugin path as one plugin, with the jars of its sub-folders.
        unfinished.rename(target)

    def differs(self, plugins: Path, release: Path | None) -> bool:
        """Tell whether the plugin path has another release, or one where none is wanted. Raises PlatformError."""
        installed = plugins / self.folder
        if release is None:
            return installed.exists()
        self.check(release)
        return not installed.exists() or _jars(release) != _jars(installed)

    def connector_class(self, plugins: Path) -> str:
        """Return the class of the installed connector. Raises PlatformError without one."""
        if (found := self._jar(plugins / self.folder)) is None:
            raise PlatformError(f"{self.variable} isn't installed in {plugins}")
        return self.classes[found[1]]

    def version(self, plugins: Path) -> str:
        """Return the version in the jar's name, empty where it has none."""
        found = self._jar(plugins / self.folder)
        match = re.search(r"-(\d[\w.-]*)\.jar\Z", found[0].name) if found else None
        return match[1] if match else ""

    def _jar(self, folder: Path) -> tuple[Path, str] | None:
        """Return the connector's jar, and the pattern that found it."""
        return next(((jar, name) for name in self.classes for jar in sorted(folder.glob(f"**/{name}"))), None)

    @contextlib.contextmanager
    def _readable(self, release: Path) -> Iterator[None]:
        try:
            yield
        except (OSError, *DAMAGE) as error:
            raise PlatformError(f"{self.variable}={release} is neither a folder nor a zip archive: {error}") from error


def _jars(release: Path) -> list[tuple[str, int]]:
    """Return the names and sizes of the jars in a folder or an archive."""
    if release.is_dir():
        return sorted((path.name, path.stat().st_size) for path in release.rglob("*.jar"))
    with zipfile.ZipFile(release) as packed:
        jars = [one for one in packed.infolist() if one.filename.endswith(".jar")]
    return sorted((one.filename.rpartition("/")[2], one.file_size) for one in jars)


LENSES = UserPlugin(
    folder="lenses",
    variable="LENSES_PLUGIN",
    called="the S3 connector",
    classes={"kafka-connect-aws-s3*.jar": CONNECTOR_CLASS},
)
JDBC = UserPlugin(
    folder="jdbc",
    variable="JDBC_PLUGIN",
    called="a JDBC connector",
    classes={"jdbc-connector-for-apache-kafka-*.jar": AIVEN, "kafka-connect-jdbc-*.jar": CONFLUENT},
)


class Connect:
    """The worker whose files are in `folder`.

    `lenses` is the Lenses S3 connector's release, an archive or an unpacked folder, or None; `jdbc` the same of a JDBC
    source. `login` is how the worker itself logs in to Kafka, in Java clients' format; a connector brings its own.
    `log` is where its output goes; `table_at` as in ConnectApi.
    """

    name = "connect"

    def __init__(
        self,
        folder: Path,
        *,
        port: int,
        bootstrap_servers: str,
        lenses: Path | None = None,
        jdbc: Path | None = None,
        login: Mapping[str, str] | None = None,
        log: Path | None = None,
        table_at: Callable[[int], str | None] = lambda _position: None,
    ) -> None:
        self._folder = folder.resolve()
        self.plugins, self._secrets = self._folder / "plugins", self._folder / "secrets"
        self._port = port
        self.url = f"http://{HOST}:{port}"
        self._bootstrap_servers = bootstrap_servers
        self._lenses = lenses
        self._jdbc = jdbc
        self.login = login or {}
        self.api = ConnectApi(self.url, log=log, table_at=table_at)

    @property
    def database_password(self) -> str:
        """The reference to the password that `password_reference` stores."""
        return self._reference("connector", "password")

    def password_reference(self, password: str) -> str:
        return self.secret_reference("connector", "password", password)

    def stored(self) -> dict[str, str]:
        """Return the content of the worker's secret files by name."""
        return {path.name: path.read_text(encoding="utf-8") for path in self._secrets.glob("*")}

    def acting_as(self, user: str, login: Mapping[str, str]) -> dict[str, str]:
        """Return the login settings of a connector's clients for a Kafka user, whose password only the worker reads."""
        overrides = self._kept(user, login)
        return {f"{client}.override.{name}": value for client in CLIENTS for name, value in overrides.items()}

    def _kept(self, user: str, login: Mapping[str, str]) -> dict[str, str]:
        """Return a login with a reference in place of its secret part."""
        return {
            name: self.secret_reference(user, name, value) if name == SECRET_PART else value
            for name, value in login.items()
        }

    def _reference(self, name: str, key: str) -> str:
        if set(",:${}") & set(str(self._secrets)):
            raise PlatformError(
                f"Connect can't have , : $ {{ or }} in a path: move the platform away from {self._folder}"
            )
        return f"${{file:{self._secrets / name}.properties:{key}}}"

    def secret_reference(self, name: str, key: str, secret: str) -> str:
        """Store a secret where only the worker reads it; return the reference for connector configurations."""
        self._secrets.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_properties(self._secrets / f"{name}.properties", {key: secret})
        return self._reference(name, key)

    def install_plugins(self) -> None:
        """Unpack the plugins. Raises PlatformError when one is invalid."""
        # One plugin, as elsewhere: Debezium finds our converters through its own class loader.
        ours = resources(*OF_SOURCES)
        write_resources(ours, _unpack_debezium(self.plugins) / RESOURCES_JAR)
        LENSES.install(self.plugins, self._lenses)
        JDBC.install(self.plugins, self._jdbc)

    def prepare(self) -> Command:
        # The worker refuses to start without it.
        self._secrets.mkdir(mode=0o700, parents=True, exist_ok=True)
        configuration = self._folder / "worker.properties"
        write_properties(configuration, self.properties())
        argv = java_command(
            jars="kafka",
            main="org.apache.kafka.connect.cli.ConnectDistributed",
            arguments=[str(configuration)],
            heap_mb=HEAP_MB,
            options=log4j_options(self._folder),
        )
        return Command(argv=argv, folder=self._folder, environment=ENVIRONMENT)

    def ready(self) -> bool:
        return self.api.ready()

    def properties(self) -> dict[str, str]:
        # A connector's clients get everything but the secret: without its own login, one can't act as the worker.
        shared = {name: value for name, value in self.login.items() if name != SECRET_PART}
        return {
            "bootstrap.servers": self._bootstrap_servers,
            **self._kept("worker", self.login),
            **{f"{client}.{name}": value for client in CLIENTS for name, value in shared.items()},
            "group.id": GROUP,
            "config.storage.topic": CONFIG_TOPIC,
            "offset.storage.topic": OFFSET_TOPIC,
            "status.storage.topic": STATUS_TOPIC,
            **{f"{name}.storage.replication.factor": "1" for name in ("config", "offset", "status")},
            **{f"{name}.storage.partitions": "1" for name in ("offset", "status")},
            "key.converter": JSON_CONVERTER,
            "value.converter": JSON_CONVERTER,
            "listeners": self.url,
            "rest.advertised.host.name": HOST,
            "rest.advertised.port": str(self._port),
            "plugin.path": str(self.plugins),
            # Faster than scanning every class; Debezium brings the manifests, others may not.
            "plugin.discovery": "hybrid_warn" if self._lenses or self._jdbc else "service_load",
            "connector.client.config.override.policy": "All",
            # After a kill, the next worker takes over as soon as the dead one's session has ended.
            "scheduled.rebalance.max.delay.ms": "0",
            **SESSION,
            **{f"consumer.{name}": value for name, value in SESSION.items()},
            # Bounds what Debezium sends again after a kill, and the lag of the slot's confirmed position.
            "offset.flush.interval.ms": "1000",
            "config.providers": "file",
            "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
            "config.providers.file.param.allowed.paths": str(self._secrets),
        }


def _unpack_debezium(plugins: Path) -> Path:
    """Unpack the locked archive once, and return its folder; other versions are removed."""
    archive = next(jar_folder("debezium").glob("debezium-connector-postgres-*-plugin.tar.gz"), None)
    if archive is None:
        raise PlatformError("Debezium's plugin archive is missing: run `make setup`")
    target = plugins / archive.name.removesuffix(".tar.gz")
    if target.exists():
        return target
    for other in plugins.glob("debezium-*"):
        shutil.rmtree(other)
    unfinished = plugins.with_name("plugins.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    with tarfile.open(archive) as tar:
        unpack(tar, unfinished)
    plugins.mkdir(parents=True, exist_ok=True)
    unfinished.rename(target)
    return target
