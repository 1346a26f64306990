"""The connector plugins and their versions, read from versions.toml."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

VERSIONS_TOML = Path(__file__).with_name("versions.toml")
COORDINATE_PARTS = 5


@dataclass(frozen=True, kw_only=True)
class MavenPlugin:
    """A plugin archive on Maven Central.

    `coordinate` is `group:artifact:version:packaging:classifier`.
    """

    coordinate: str

    def __post_init__(self) -> None:
        parts = self.coordinate.split(":")
        if len(parts) != COORDINATE_PARTS or not all(parts):
            raise ValueError(f"coordinate must be group:artifact:version:packaging:classifier, not {self.coordinate!r}")

    @property
    def version(self) -> str:
        """The third part of the coordinate."""
        return self.coordinate.split(":")[2]


@dataclass(frozen=True, kw_only=True)
class ReleasePlugin:
    """A plugin archive among a project's releases.

    `sha256` is None until it is pinned; an archive without it can't be verified.
    """

    version: str
    file: str
    sha256: str | None

    def __post_init__(self) -> None:
        parse_version(self.version)
        if self.version not in self.file:
            raise ValueError(f"file {self.file!r} isn't of version {self.version}")
        if self.sha256 is not None and not re.fullmatch(r"[0-9a-f]{64}", self.sha256):
            raise ValueError(f"sha256 must be 64 hexadecimal digits, not {self.sha256!r}")


@dataclass(frozen=True, kw_only=True)
class Versions:
    """Everything that versions.toml pins."""

    debezium: MavenPlugin
    lenses_s3: ReleasePlugin


def load_versions(path: Path = VERSIONS_TOML) -> Versions:
    """Read and check versions.toml. Raises ValueError naming the entry that is missing or wrong."""
    tables = tomllib.loads(path.read_text())
    try:
        lenses = tables["lenses-s3"]
        return Versions(
            debezium=MavenPlugin(coordinate=tables["debezium"]["coordinate"]),
            lenses_s3=ReleasePlugin(
                version=lenses["version"], file=lenses["file"], sha256=lenses["sha256"].strip() or None
            ),
        )
    except KeyError as missing:
        raise ValueError(f"{path.name}: {missing} is missing") from None
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None


def parse_version(version: str) -> tuple[int, ...]:
    """`11.7.2` → (11, 7, 2). Raises ValueError for anything but numbers and dots."""
    if not re.fullmatch(r"\d+(\.\d+)*", version):
        raise ValueError(f"version must be numbers and dots, not {version!r}")
    return tuple(int(part) for part in version.split("."))
