"""Connectors that no package registry has: the user gives a release's path, and it joins the worker's plugins."""

import contextlib
import re
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from local.errors import PlatformError
from plugins.polling.jdbc_settings import AIVEN, CONFLUENT
from plugins.sink.sink_connector import CONNECTOR_CLASS


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
            names = [path.name for path in release.rglob("*.jar")] if release.is_dir() else _packed(release)
        if not any(fnmatch(name, jar) for name in names for jar in self.classes):
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
                    archive.extractall(unfinished)
        # Connect treats each folder in the plugin path as one plugin, with the jars of its sub-folders.
        unfinished.rename(target)

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
        except (OSError, zipfile.BadZipFile) as error:
            raise PlatformError(f"{self.variable}={release} is neither a folder nor a zip archive: {error}") from error


def _packed(archive: Path) -> list[str]:
    with zipfile.ZipFile(archive) as packed:
        return [name.rpartition("/")[2] for name in packed.namelist()]


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
