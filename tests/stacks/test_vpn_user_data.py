"""The bastion's user data script, run by bash in a folder of its own. What it calls is stubbed; the server's stub keeps
the real one's manners (seen on SoftEther 5.01): commands repeated on the screen, lines of the saved configuration that
end as on Windows, nothing without a password once one is set."""

import hashlib
import os
import re
import subprocess
import tarfile
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from stacks.rules.network import VPN_CLIENTS

SCRIPT = Path(__file__).resolve().parents[2] / "stacks" / "userdata" / "softether.sh"
SECRETS = {"psk-arn": "PreSharedKey123", "admin-arn": "AdminPassword456", "user-arn": "UserPassword789"}
# Each stub notes its arguments, which is what anybody sees in the process list.
NOTE = """#!/bin/bash
printf '%s\\n' "${0##*/} $*" >>"$ROOT/arguments"
"""
STUBS = {
    "aws": """exec cat "$ROOT/secrets/$4" """,
    "curl": """for last; do :; done; while [[ $1 != --output ]]; do shift; done; cp "$ROOT/release" "$2" """,
    "systemctl": """[[ $1 != stop ]] || rm -f "$ROOT/opt/vpnserver/running" """,
    "cfn-signal": "",
    **dict.fromkeys(("dnf", "dd", "mkswap", "swapon"), ""),
}
VPNCMD = """#!/bin/bash
printf '%s\\n' "vpncmd $*" >>"$ROOT/arguments"
home=$ROOT/opt/vpnserver
for last; do :; done
file=${last#/IN:}
command=$(<"$file")
stat --format=%a "$file" >>"$ROOT/modes"
echo "$command"
[[ ! -e $home/password ]] || exit 1
[[ $command != "$REFUSED"* ]] || exit 33
echo "$command" >>"$ROOT/commands"
case $command in
  HubCreate*) printf '\\tdeclare lake\\r\\n' >>"$home/vpn_server.config" ;;
  ServerPasswordSet*) [[ -n $OPEN ]] || touch "$home/password" ;;
esac
"""
MAKEFILE = """i_read_and_agree_the_license_agreement:
\tcp vpncmd.in vpncmd
\tcp vpncmd.in vpnserver
\tchmod 755 vpncmd vpnserver
"""


@dataclass
class Machine:
    """A folder that takes the place of the bastion's disk."""

    root: Path

    def boot(self, *, sha256: str | None = None, refused: str = "no such command", open_: bool = False) -> str:
        """Run the script; return what it printed. Its status is in `signal`, as CloudFormation would get it."""
        script = self.root / "user-data"
        script.write_text(self._script(sha256 if sha256 is not None else self.checksum))
        environment = {
            "PATH": f"{self.root}/bin:{os.environ['PATH']}",
            "ROOT": str(self.root),
            "REFUSED": refused,
            "OPEN": "yes" if open_ else "",
        }
        done = subprocess.run(
            ["bash", str(script)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        return done.stdout

    @property
    def checksum(self) -> str:
        return hashlib.sha256((self.root / "release").read_bytes()).hexdigest()

    @property
    def signal(self) -> str:
        """What CloudFormation is told last."""
        return [line for line in self.lines("arguments") if line.startswith("cfn-signal ")][-1]

    def lines(self, name: str) -> list[str]:
        path = self.root / name
        return path.read_text().splitlines() if path.exists() else []

    def called(self, program: str) -> bool:
        return any(line.startswith(f"{program} ") for line in self.lines("arguments"))

    def _script(self, sha256: str) -> str:
        values = {
            "RELEASE_URL": "https://example.org/softether.tar.gz",
            "RELEASE_SHA256": sha256,
            "PRE_SHARED_KEY_SECRET": "psk-arn",
            "ADMIN_PASSWORD_SECRET": "admin-arn",
            "USER_PASSWORD_SECRET": "user-arn",
            "HUB": "lake",
            "USER": "vpn",
            "VPC_NETWORK": "10.100.0.0/255.255.0.0",
            "STACK": "dev-cdc-lake-vpn",
            "RESOURCE": "Bastion",
            "REGION": "ap-southeast-2",
        }
        text = SCRIPT.read_text()
        for name, value in values.items():
            text = text.replace(f"@{name}@", value)
        for folder in ("/opt/aws/bin/", "/opt", "/run", "/etc/", "/usr/local/sbin", "/swapfile"):
            instead = f"{self.root}/bin/" if folder == "/opt/aws/bin/" else f"{self.root}{folder}"
            text = text.replace(f"={folder}", f"={instead}").replace(f" {folder}", f" {instead}")
            text = text.replace(f'"{folder}', f'"{instead}').replace(f">{folder}", f">{instead}")
        return text


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    for folder in ("bin", "opt", "run", "etc/systemd/system", "usr/local/sbin", "secrets", "source/vpnserver"):
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
    (tmp_path / "swapfile").touch()
    return Machine(tmp_path)


def test_a_boot_sets_the_server_up_and_tells_cloudformation(machine: Machine) -> None:
    shown = machine.boot()
    assert machine.signal.startswith("cfn-signal --exit-code 0"), shown
    commands = [line.split()[0] for line in machine.lines("commands")]
    assert commands[0] == "About"
    assert {"HubCreate", "SecureNatEnable", "UserCreate", "UserPasswordSet", "IPsecEnable"} <= set(commands)
    assert commands[-2:] == ["ServerPasswordSet", "Flush"]
    assert any("/PUSHROUTE:10.100.0.0/255.255.0.0/192.168.30.1" in line for line in machine.lines("commands"))


def test_clients_get_the_addresses_that_no_vpc_may_have() -> None:
    given = re.findall(r"192\.168\.\d+\.\d+", SCRIPT.read_text())
    assert given
    assert all(IPv4Address(address) in VPN_CLIENTS for address in given)


def test_no_secret_is_shown_or_an_argument_or_left_behind(machine: Machine) -> None:
    shown = machine.boot()
    known = "\n".join(machine.lines("commands"))
    arguments = "\n".join(machine.lines("arguments"))
    for secret in SECRETS.values():
        assert secret in known
        assert secret not in arguments
        assert secret not in shown
    assert set(machine.lines("modes")) == {"600"}
    assert list((machine.root / "run").iterdir()) == []


def test_the_first_configuration_opens_one_port_and_no_hub(machine: Machine) -> None:
    machine.boot()
    text = (machine.root / "opt/vpnserver/vpn_server.config").read_text()
    assert text.count("uint Port") == 1
    assert "uint Port 443" in text
    assert "declare DEFAULT" not in text
    assert "bool DisableNatTraversal true" in text


def test_another_release_than_the_pinned_one_is_never_unpacked(machine: Machine) -> None:
    shown = machine.boot(sha256="0" * 64)
    assert machine.signal.startswith("cfn-signal --exit-code 1")
    assert machine.checksum in machine.signal
    assert "0" * 64 in shown
    assert list((machine.root / "opt").iterdir()) == []


def test_a_release_without_a_checksum_isnt_even_downloaded(machine: Machine) -> None:
    machine.boot(sha256="")
    assert "has no checksum: run make lock-plugins" in machine.signal
    assert not machine.called("curl")


@pytest.mark.parametrize("command", ["UserPasswordSet", "IPsecEnable"])
def test_a_command_that_fails_fails_the_deployment_by_its_name_alone(machine: Machine, command: str) -> None:
    shown = machine.boot(refused=command)
    assert machine.signal.startswith(f"cfn-signal --exit-code 1 --reason SoftEther refused {command} --stack")
    assert not any(secret in shown + machine.signal for secret in SECRETS.values())
    assert "systemctl stop softether" in machine.lines("arguments")[-2]


def test_a_server_that_takes_commands_without_a_password_doesnt_stay_up(machine: Machine) -> None:
    machine.boot(open_=True)
    assert "takes commands without a password" in machine.signal
    assert machine.lines("arguments")[-2] == "systemctl stop softether"


def test_a_secret_that_cant_be_read_is_the_reason(machine: Machine) -> None:
    (machine.root / "secrets/user-arn").unlink()
    machine.boot()
    assert "--exit-code 1 --reason cannot read the VPN secrets" in machine.signal


def test_run_again_it_takes_changed_secrets_over_and_downloads_nothing(machine: Machine) -> None:
    machine.boot()
    (machine.root / "secrets/user-arn").write_text("AnotherPassword\n")
    (machine.root / "release").unlink()
    (machine.root / "opt/vpnserver/password").unlink()
    machine.boot(sha256="1" * 64)
    assert machine.signal.startswith("cfn-signal --exit-code 0")
    assert "UserPasswordSet vpn /PASSWORD:AnotherPassword" in machine.lines("commands")
    assert (machine.root / "usr/local/sbin/softether-setup").read_text() == (machine.root / "user-data").read_text()
