"""Puts together what the image of the connectors' workers on EKS is built from: `make connect-image`.

The same releases and jars make the same files. Building and pushing are Docker's, by the lines that this prints.
"""

import shutil
import tomllib
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from local.setup.jars import jar_folder
from operate.errors import OperateError
from plugins import is_truncate, salted_connector, worker_health
from plugins.archive import repack, write_resources
from plugins.download import fetch
from plugins.versions import MavenRelease, Release, load_versions

ROOT = Path(__file__).resolve().parents[1]
SOURCE, TARGET = ROOT / "connect-image", ROOT / "build" / "connect-image"
IMAGE_TOML = SOURCE / "image.toml"
WORKER_JAR = "cdc-lake-worker.jar"


def connect_image(say: Callable[[str], None], *, target: Path = TARGET, image_toml: Path = IMAGE_TOML) -> None:
    """Write the folder that Docker builds from. Raises OperateError for what isn't pinned, ArchiveError for a download.

    `say` gets the lines that build and push.
    """
    image = tomllib.loads(image_toml.read_text(encoding="utf-8"))
    base = _base(image["base"], image_toml)
    versions = load_versions()
    plugins = {"source": [versions.debezium, versions.config_provider], "sink": [versions.lenses_s3]}
    _check_pinned([release for releases in plugins.values() for release in releases])
    shutil.rmtree(target, ignore_errors=True)
    (target / "libs").mkdir(parents=True)
    for jar in sorted(jar_folder("kafka").glob("*.jar")):
        shutil.copyfile(jar, target / "libs" / jar.name)
    fetch(MavenRelease.of(**image["msk-iam-auth"]).request(), target / "libs")
    write_resources(worker_health.resources(), target / "libs" / WORKER_JAR)
    for name, releases in plugins.items():
        _plugin(target / "plugins" / name, [release.request() for release in releases], name == "source")
    shutil.copyfile(SOURCE / "Dockerfile", target / "Dockerfile")
    say(f"{sum(1 for _ in target.rglob('*.jar'))} jars in {target}: verified against their pins. Then:")
    say(f"  docker build --platform linux/amd64 --build-arg BASE={base} -t <repository>:<any tag> {target}")
    say("  docker push <repository>:<any tag>")
    say("What push says, `<repository>@sha256:…`, is connectors.eks.image.")


def _base(base: Mapping[str, str], path: Path) -> str:
    digest = base["digest"]
    if not digest.startswith("sha256:"):
        raise OperateError(
            f"{path.name}: [base] has no digest: write what `docker buildx imagetools inspect {base['image']}` says, "
            "look at it and commit it"
        )
    return f"{base['image'].rpartition(':')[0]}@{digest}"


def _check_pinned(releases: Sequence[Release]) -> None:
    if unpinned := [release.file for release in releases if not release.pinned]:
        raise OperateError(
            f"plugins/versions.toml has no SHA-256 for {', '.join(unpinned)}: run `make lock-plugins`, look at what it "
            "has written and commit it"
        )


def _plugin(target: Path, releases: Sequence[Mapping[str, Any]], ours: bool) -> None:
    """Unpack releases as MSK Connect's plugins are packed: all their jars in one folder."""
    work = target.with_name(f"{target.name}.work")
    work.mkdir(parents=True)
    archives = [fetch(release, work) for release in releases]
    resources = {**is_truncate.resources(), **salted_connector.resources()} if ours else None
    repack(archives, work / "plugin.zip", resources=resources)
    with zipfile.ZipFile(work / "plugin.zip") as plugin:
        plugin.extractall(target)
    shutil.rmtree(work)
