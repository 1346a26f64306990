"""The releases in versions.toml: the connectors' plugins and the VPN server."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from contract.errors import UserError

VERSIONS_TOML = Path(__file__).with_name("versions.toml")
COORDINATE_PARTS = 5
# Runs on the user's own worker; it is never deployed.
OPTIONAL = frozenset({"jdbc"})
# Only the host's name: `maven_url` alone adds HTTPS and the artifact's path.
MAVEN_CENTRAL = "repo1.maven.org"


class VersionsError(UserError, ValueError):
    """versions.toml is missing or wrong; one line that names the file and the entry."""


class Release(BaseModel):
    """One file of a project's release.

    `size` (bytes) and `sha256` are None until they are pinned; a file without them can't be verified.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    version: str
    url: str
    size: Annotated[int, Field(ge=0)] | None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None

    @model_validator(mode="before")
    @classmethod
    def _unpinned(cls, values: Any) -> Any:
        """Ignore a size that was left when the hash was emptied."""
        empty = isinstance(values, dict) and values.get("sha256") == "" and isinstance(values.get("size"), int)
        return {**values, "size": None, "sha256": None} if empty else values

    @model_validator(mode="after")
    def _fits(self) -> Self:
        url = urlsplit(self.url)
        if url.scheme != "https" or not self.file or url.query or "@" in url.netloc:
            # The URL isn't repeated: a query may be a signature, a login has a password.
            raise ValueError("url must be https://<host>/…/<file>, without a login and without a query")
        if self.version not in self.file:
            raise ValueError(f"file {self.file!r} isn't of version {self.version}")
        if self.pinned and not self.size:
            raise ValueError(f"{self.file!r} has a sha256 but no size: empty it and run `./lake dev lock plugins`")
        return self

    @property
    def file(self) -> str:
        return urlsplit(self.url).path.rpartition("/")[2]

    @property
    def pinned(self) -> bool:
        return self.sha256 is not None

    def request(self) -> dict[str, str | int]:
        """The deployment step's parameters; `size` is 0 and `sha256` empty if they aren't pinned."""
        return {"url": self.url, "file": self.file, "size": self.size or 0, "sha256": self.sha256 or ""}


class MavenRelease(Release):
    """A release on Maven Central, with the version in `coordinate`, `group:artifact:version:packaging:classifier`."""

    coordinate: str

    @model_validator(mode="before")
    @classmethod
    def _placed(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        coordinate = values.get("coordinate")
        parts = coordinate.split(":") if isinstance(coordinate, str) else []
        if len(parts) != COORDINATE_PARTS or not all(parts):
            raise ValueError(f"coordinate must be group:artifact:version:packaging:classifier, not {coordinate!r}")
        return {**values, "version": parts[2], "url": maven_url(*parts)}


class Versions(BaseModel):
    """Everything that versions.toml pins."""

    model_config = ConfigDict(alias_generator=lambda name: name.replace("_", "-"), extra="forbid", frozen=True)

    debezium: MavenRelease
    lenses_s3: Release
    config_provider: Release
    softether: Release
    jdbc: Release

    @property
    def releases(self) -> dict[str, Release]:
        return {name.replace("_", "-"): release for name, release in self}

    @property
    def unpinned(self) -> tuple[str, ...]:
        """The names of releases that can't be deployed before `./lake dev lock plugins`."""
        return tuple(name for name, one in self.releases.items() if not one.pinned and name not in OPTIONAL)


def unpinned_refusal(names: Sequence[str]) -> str | None:
    """Say why nothing can be deployed with these releases, which have no checksum; None if there are none."""
    if not names:
        return None
    return (
        f"plugins/releases/versions.toml has no SHA-256 for {', '.join(names)}: run `./lake dev lock plugins`, look at "
        "what it has written and commit it; what can't be verified isn't deployed"
    )


def load_versions(path: Path = VERSIONS_TOML) -> Versions:
    """Read and check versions.toml. Raises VersionsError naming the entry that is missing or wrong."""
    shown = path.name
    try:
        return Versions.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        [problem, *_] = error.errors()
        where = ".".join(map(str, problem["loc"]))
        raise VersionsError(f"{shown}: {where}: {problem['msg'].removeprefix('Value error, ')}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise VersionsError(f"{shown}: not TOML: {error}") from None
    except OSError as error:
        raise VersionsError(
            f"{shown}: can't be read: {error.strerror}; `git checkout {shown}` brings it back"
        ) from None


def maven_url(group: str, artifact: str, version: str, packaging: str, classifier: str) -> str:
    file = f"{artifact}-{version}-{classifier}.{packaging}"
    return f"https://{MAVEN_CENTRAL}/maven2/{group.replace('.', '/')}/{artifact}/{version}/{file}"
