"""The bastion's boot: the VPN server is set up, no secret is exposed, and CloudFormation gets the result."""

import re
from ipaddress import IPv4Address

import pytest

from settings.rules.network import VPN_CLIENTS
from tests.stacks.userdata.bastion import SCRIPT, SECRETS, Machine


def test_a_boot_sets_the_server_up_and_tells_cloudformation(machine: Machine) -> None:
    shown = machine.boot()
    assert machine.signal.startswith("cfn-signal --exit-code 0"), shown
    commands = [line.split()[0] for line in machine.lines("commands")]
    assert commands[0] == "About"
    assert {"HubCreate", "SecureNatEnable", "UserCreate", "UserPasswordSet", "IPsecEnable"} <= set(commands)
    # Users are admitted only once the server requires a password for its own commands.
    assert commands.index("ServerPasswordSet") < commands.index("UserCreate") < commands.index("IPsecEnable")
    assert machine.users == ["alice", "bob"]
    assert "systemctl enable --now softether-people.timer" in machine.lines("arguments")
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
    assert {path.name for path in (machine.root / "run").iterdir()} == {"softether.lock", "softether-people"}
    kept = "".join(path.read_text() for path in (machine.root / "run/softether-people").iterdir())
    assert not any(secret in kept for secret in SECRETS.values())


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
    assert "has no checksum: run ./lake dev lock plugins" in machine.signal
    assert not machine.called("curl")


@pytest.mark.parametrize("command", ["UserPasswordSet", "IPsecEnable"])
def test_a_command_that_fails_fails_the_deployment_by_its_name_alone(machine: Machine, command: str) -> None:
    shown = machine.boot(refused=command)
    assert machine.signal.startswith(f"cfn-signal --exit-code 1 --reason SoftEther refused {command} --stack")
    assert not any(secret in shown + machine.signal for secret in SECRETS.values())
    assert "systemctl stop softether" in machine.lines("arguments")[-2]
    assert not (machine.root / "opt/vpnserver/admin-password").exists()


def test_a_server_that_takes_commands_without_a_password_doesnt_stay_up(machine: Machine) -> None:
    machine.boot(open_=True)
    assert "takes commands without a password" in machine.signal
    assert machine.lines("arguments")[-2] == "systemctl stop softether"


def test_a_secret_that_cant_be_read_is_the_reason(machine: Machine) -> None:
    (machine.root / "secrets/vpn/bob").unlink()
    machine.boot()
    assert "--exit-code 1 --reason cannot read the VPN secret of bob" in machine.signal


def test_users_that_would_reach_the_instances_credentials_arent_let_in(machine: Machine) -> None:
    machine.boot(metadata=True)
    assert "VPN users would reach the instance's credentials" in machine.signal
    assert machine.users == []
    unit = (machine.root / "etc/systemd/system/softether.service").read_text()
    assert "IPAddressDeny=169.254.0.0/16 fd00:ec2::254/128\n" in unit


def test_the_administrators_password_is_made_here_and_another_at_each_set_up(machine: Machine) -> None:
    passwords = set()
    for _ in range(2):
        machine.boot()
        path = machine.root / "opt/vpnserver/admin-password"
        assert path.stat().st_mode & 0o777 == 0o600
        password = path.read_text().strip()
        assert re.fullmatch(r"[A-Za-z0-9]{32}", password)
        assert password not in "\n".join(machine.lines("arguments"))
        passwords.add(password)
    assert len(passwords) == 2


def test_the_script_fits_into_user_data() -> None:
    # EC2's limit is 16 KB before encoding; names and addresses come into it.
    assert len(SCRIPT.read_bytes()) < 15 * 1024


def test_run_again_it_takes_changed_secrets_over_and_downloads_nothing(machine: Machine) -> None:
    machine.boot()
    (machine.root / "secrets/vpn/alice").write_text("AnotherPassword\n")
    (machine.root / "release").unlink()
    machine.boot(sha256="1" * 64)
    assert machine.signal.startswith("cfn-signal --exit-code 0")
    assert "UserPasswordSet alice /PASSWORD:AnotherPassword" in machine.lines("commands")
    assert (machine.root / "usr/local/sbin/softether-setup").read_text() == (machine.root / "user-data").read_text()
