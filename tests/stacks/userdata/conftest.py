"""A bastion that hasn't booted yet."""

import tarfile
from pathlib import Path

import pytest

from tests.stacks.userdata.bastion import MAKEFILE, NOTE, SECRETS, STUBS, VPNCMD, Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    for folder in ("bin", "opt", "run", "etc/systemd/system", "usr/local/sbin", "secrets/vpn", "source/vpnserver"):
        (tmp_path / folder).mkdir(parents=True)
    for name, body in STUBS.items():
        stub = tmp_path / "bin" / name
        stub.write_text(f"{NOTE}{body}\n")
        stub.chmod(0o755)
    source = tmp_path / "source" / "vpnserver"
    (source / "Makefile").write_text(MAKEFILE)
    (source / "vpncmd.in").write_text(VPNCMD)
    with tarfile.open(tmp_path / "release", "w:gz") as archive:
        archive.add(source, "vpnserver")
    for name, value in SECRETS.items():
        (tmp_path / "secrets" / name).write_text(f"{value}\n")
    (tmp_path / "secrets/users").write_text("alice,bob\n")
    (tmp_path / "swapfile").touch()
    return Machine(tmp_path)
