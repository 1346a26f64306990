"""`./lake dev test kubernetes`: manifests on a real API server, the image's Dockerfile in BuildKit's linter.

Both, and etcd, are built from Go modules with hashes from go.sum: no package registry has them. The first build takes
ten to twenty minutes, and little memory: one compiler at a time, at low priority.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from contract.errors import UserError


def main() -> int:
    binaries()
    files = [str(Path(__file__).with_name(name)) for name in ("api_server.py", "image.py")]
    return int(pytest.main(["-v", "-p", "no:cacheprovider", *files]))


ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".cache" / "kubernetes"
# Each with the folder of the module that it is built in.
PACKAGES = {
    "etcd": ("apiserver", "go.etcd.io/etcd/server/v3"),
    "kube-apiserver": ("apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
    "dockerfile-lint": ("dockerfile", "."),
}
# The version that go.mod requires.
_VERSION = "1.24"


def binaries() -> dict[str, Path]:
    """Return the programs, built if necessary. Raises UserError if Go is missing or a build fails."""
    found = {name: FOLDER / name for name in PACKAGES}
    missing = [name for name, path in found.items() if not path.is_file()]
    if missing and shutil.which("go") is None:
        raise UserError(
            f"{' and '.join(missing)} have to be built, and there is no Go: install {_VERSION} or later (go.dev/dl), "
            "then run this again"
        )
    for name in missing:
        print(f"building {name}, once: the API server takes ten to twenty minutes, the others one", flush=True)
        _build(*PACKAGES[name], found[name])
    return found


def _build(module: str, package: str, target: Path) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    places = {"GOMODCACHE": str(FOLDER / "modules"), "GOCACHE": str(FOLDER / "build")}
    settings = {"CGO_ENABLED": "0", "GOFLAGS": "-p=1 -modcacherw", "GOTOOLCHAIN": "local"}
    unfinished = target.with_suffix(".new")
    command = ["nice", "-n", "19", "go", "build", "-o", str(unfinished), package]
    folder = Path(__file__).with_name(module)
    if subprocess.run(command, cwd=folder, env={**os.environ, **places, **settings}, check=False).returncode:
        raise UserError(f"go build of {target.name} failed: what it said is above")
    unfinished.rename(target)
