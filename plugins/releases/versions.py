"""The releases that versions.toml names: the connectors' plugins and the VPN server."""

import re
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from contract.errors import UserError

VERSIONS_TOML = Path(__file__).with_name("versions.toml")
COORDINATE_PARTS = 5
# Runs where its user gives it, and nothing deploys it.
OPTIONAL = frozenset({"jdbc"})
# A host's name only: that Maven Central serves an artifact's path over HTTPS is said once, in `maven_url`.
MAVEN_CENTRAL = "repo1.maven.org"


class VersionsError(UserError, ValueError):
    """versions.toml is missing or wrong; one line that names the file and the entry."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """One file of a project's release. Raises ValueError naming what is wrong.

    `size` (bytes) and `sha256` are None until they are pinned; a file without them can't be verified.
    """

    version: str
    url: str
    size: int | None
    sha256: str | None

    def __post_init__(self) -> None:
        if urlsplit(self.url).scheme != "https" or not self.file:
            raise ValueError(f"url must be https://…/<file>, not {self.url!r}")
        if self.version not in self.file:
            raise ValueError(f"file {self.file!r} isn't of version {self.version}")
        if self.sha256 is not None and not re.fullmatch(r"[0-9a-f]{64}", self.sha256):
            raise ValueError(f"sha256 must be 64 hexadecimal digits, not {self.sha256!r}")
        if self.sha256 is not None and not self.size:
            raise ValueError(f"{self.file!r} has a sha256 but no size: empty it and run `./lake dev lock plugins`")

    @property
    def file(self) -> str:
        return urlsplit(self.url).path.rpartition("/")[2]

    @property
    def pinned(self) -> bool:
        return self.sha256 is not None

    def request(self) -> dict[str, str | int]:
        """What the deployment step is told of it; `size` is 0 and `sha256` empty when they aren't pinned."""
        return {"url": self.url, "file": self.file, "size": self.size or 0, "sha256": self.sha256 or ""}


@dataclass(frozen=True, kw_only=True)
class MavenRelease(Release):
    """A release on Maven Central. `coordinate` is `group:artifact:version:packaging:classifier`."""

    coordinate: str

    @classmethod
    def of(cls, coordinate: str, *, size: int | None, sha256: str | None) -> "MavenRelease":
        parts = coordinate.split(":")
        if len(parts) != COORDINATE_PARTS or not all(parts):
            raise ValueError(f"coordinate must be group:artifact:version:packaging:classifier, not {coordinate!r}")
        return cls(coordinate=coordinate, version=parts[2], url=maven_url(*parts), size=size, sha256=sha256)


@dataclass(frozen=True, kw_only=True)
class Versions:
    """Everything that versions.toml pins."""

    debezium: MavenRelease
    lenses_s3: Release
    config_provider: Release
    softether: Release
    jdbc: Release

    @property
    def releases(self) -> dict[str, Release]:
        return {field.name.replace("_", "-"): getattr(self, field.name) for field in fields(self)}

    @property
    def unpinned(self) -> tuple[str, ...]:
        """The names of those that nothing may deploy before `./lake dev lock plugins`."""
        return tuple(name for name, one in self.releases.items() if not one.pinned and name not in OPTIONAL)


def load_versions(path: Path = VERSIONS_TOML) -> Versions:
    """Read and check versions.toml. Raises VersionsError naming the entry that is missing or wrong."""
    shown = path.name
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise VersionsError(f"{shown}: not TOML: {error}") from None
    except OSError as error:
        raise VersionsError(
            f"{shown}: can't be read: {error.strerror}; `git checkout {shown}` brings it back"
        ) from None
    try:
        debezium = _table(tables, "debezium")
        versions = Versions(
            debezium=MavenRelease.of(_text(debezium, "coordinate"), **_pin(debezium)),
            lenses_s3=_release(_table(tables, "lenses-s3")),
            config_provider=_release(_table(tables, "config-provider")),
            softether=_release(_table(tables, "softether")),
            jdbc=_release(_table(tables, "jdbc")),
        )
    except KeyError as missing:
        raise VersionsError(f"{shown}: {missing} is missing") from None
    except ValueError as error:
        raise VersionsError(f"{shown}: {error}") from None
    return versions


def maven_url(group: str, artifact: str, version: str, packaging: str, classifier: str) -> str:
    file = f"{artifact}-{version}-{classifier}.{packaging}"
    return f"https://{MAVEN_CENTRAL}/maven2/{group.replace('.', '/')}/{artifact}/{version}/{file}"


def _release(table: dict[str, Any]) -> Release:
    return Release(version=_text(table, "version"), url=_text(table, "url"), **_pin(table))


def _pin(table: dict[str, Any]) -> dict[str, Any]:
    sha256, size = _text(table, "sha256").strip() or None, table["size"]
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise ValueError(f"size must be a number of bytes, not {size!r}")
    return {"size": size if sha256 else None, "sha256": sha256}


def _table(tables: dict[str, Any], name: str) -> dict[str, Any]:
    table = tables[name]
    if not isinstance(table, dict):
        raise ValueError(f"{name!r} must be a table, [{name}], not {table!r}")
    return table


def _text(table: dict[str, Any], key: str) -> str:
    text = table[key]
    if not isinstance(text, str):
        raise ValueError(f"{key} must be text in quotes, not {text!r}")
    return text
