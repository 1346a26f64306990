"""Prepares the build folder of the EKS workers' image: `./lake kafka image`.

The same releases and jars give the same files. Docker builds and pushes, with the commands that this prints.
"""

import re
import shutil
import tomllib
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from local.setup.jars import jar_folder
from operate.errors import OperateError
from plugins.releases.archive import repack, write_resources
from plugins.releases.download import fetch
from plugins.releases.versions import MavenRelease, load_versions, unpinned_refusal
from plugins.workers.connect_workers import OF_SOURCES, WORKER_HEALTH, resources

ROOT = Path(__file__).resolve().parents[1]
SOURCE, TARGET = ROOT / "connect-image", ROOT / "build" / "connect-image"
IMAGE_TOML, DOCKERFILE = SOURCE / "image.toml", SOURCE / "Dockerfile"
_FROM = re.compile(r"^\s*FROM\s+(?:--\S+\s+)*(\S+)", re.MULTILINE | re.IGNORECASE)
_PINNED = re.compile(r"@sha256:[0-9a-f]{64}$")
WORKER_JAR = "cdc-lake-worker.jar"


def connect_image(say: Callable[[str], None], *, target: Path = TARGET, dockerfile: Path = DOCKERFILE) -> None:
    """Write Docker's folder; `say` gets the commands. Raises OperateError for anything unpinned, ArchiveError."""
    _check_base(dockerfile)
    image = tomllib.loads(IMAGE_TOML.read_text(encoding="utf-8"))
    versions = load_versions()
    plugins = {"source": [versions.debezium, versions.config_provider], "sink": [versions.lenses_s3]}
    if reason := unpinned_refusal([each.file for some in plugins.values() for each in some if not each.pinned]):
        raise OperateError(reason)
    shutil.rmtree(target, ignore_errors=True)
    (target / "libs").mkdir(parents=True)
    for jar in sorted(jar_folder("kafka").glob("*.jar")):
        shutil.copyfile(jar, target / "libs" / jar.name)
    fetch(MavenRelease.model_validate(image["msk-iam-auth"]).request(), target / "libs")
    write_resources(resources(WORKER_HEALTH), target / "libs" / WORKER_JAR)
    for name, releases in plugins.items():
        _plugin(target / "plugins" / name, [release.request() for release in releases], name == "source")
    shutil.copyfile(dockerfile, target / "Dockerfile")
    say(f"{sum(1 for _ in target.rglob('*.jar'))} jars in {target}: verified against their pins. Then:")
    say(f"  docker build --platform linux/amd64 -t <repository>:<any tag> {target}")
    say("  docker push <repository>:<any tag>")
    say("What push says, `<repository>@sha256:…`, is connectors.eks.image.")


def _check_base(dockerfile: Path) -> None:
    for base in _FROM.findall(dockerfile.read_text(encoding="utf-8")):
        if not _PINNED.search(base):
            raise OperateError(
                f"{dockerfile.name}: FROM {base} has no digest: write `@` and what `docker buildx imagetools inspect "
                f"{base.partition('@')[0]}` says behind it, look at it and commit it"
            )


def _plugin(target: Path, releases: Sequence[Mapping[str, Any]], ours: bool) -> None:
    """Unpack releases the way MSK Connect plugins are packed: all jars in one folder."""
    work = target.with_name(f"{target.name}.work")
    work.mkdir(parents=True)
    archives = [fetch(release, work) for release in releases]
    repack(archives, work / "plugin.zip", resources=resources(*OF_SOURCES) if ours else {})
    with zipfile.ZipFile(work / "plugin.zip") as plugin:
        plugin.extractall(target)
    shutil.rmtree(work)
