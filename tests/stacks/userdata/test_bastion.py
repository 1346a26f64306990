"""The bastion's boot and its timer: no secret is exposed, and access follows the current list and secrets."""

import os
import re
import shutil
import tarfile
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from settings.rules.network import VPN_CLIENTS
from stacks.vpn_script import USER_DATA
from tests.stacks.userdata.bastion import MAKEFILE, NOTE, SECRETS, STUBS, VPNCMD, Machine


def new_machine(root: Path) -> Machine:
    for folder in ("bin", "opt", "run", "etc/systemd/system", "usr/local/sbin", "secrets/vpn", "source/vpnserver"):
        (root / folder).mkdir(parents=True)
    for name, body in STUBS.items():
        stub = root / "bin" / name
        stub.write_text(f"{NOTE}{body}\n")
        stub.chmod(0o755)
    source = root / "source" / "vpnserver"
    (source / "Makefile").write_text(MAKEFILE)
    (source / "vpncmd.in").write_text(VPNCMD)
    with tarfile.open(root / "release", "w:gz") as archive:
        archive.add(source, "vpnserver")
    for name, value in SECRETS.items():
        (root / "secrets" / name).write_text(f"{value}\n")
    (root / "secrets/users").write_text("alice,bob\n")
    (root / "swapfile").touch()
    return Machine(root)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return new_machine(tmp_path)


@pytest.fixture(scope="module")
def first_boot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The disk of a machine that has booted once; its copy next to it stays as it is then."""
    root = tmp_path_factory.mktemp("machine") / "disk"
    new_machine(root).boot()
    shutil.copytree(root, root.with_name("copy"))
    return root


@pytest.fixture
def booted(first_boot: Path) -> Machine:
    shutil.rmtree(first_boot)
    shutil.copytree(first_boot.with_name("copy"), first_boot)
    return Machine(first_boot)


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
    given = re.findall(r"192\.168\.\d+\.\d+", USER_DATA.read_text())
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


def test_the_first_configuration_opens_one_port_and_no_hub(booted: Machine) -> None:
    text = (booted.root / "opt/vpnserver/vpn_server.config").read_text()
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


@pytest.mark.parametrize(
    ("boot", "reason"),
    [
        ({"sha256": ""}, "has no checksum: run ./lake dev lock plugins"),
        ({"refused": "UserPasswordSet"}, "SoftEther refused UserPasswordSet --stack"),
        ({"refused": "IPsecEnable"}, "SoftEther refused IPsecEnable --stack"),
        ({"open_": True}, "takes commands without a password"),
        ({"metadata": True}, "VPN users would reach the instance's credentials"),
    ],
)
def test_a_boot_that_fails_fails_the_deployment_with_its_reason_alone_and_leaves_no_server(
    machine: Machine, boot: dict[str, Any], reason: str
) -> None:
    shown = machine.boot(**boot)
    assert machine.signal.startswith("cfn-signal --exit-code 1 --reason ")
    assert reason in machine.signal
    assert not any(secret in shown + machine.signal for secret in SECRETS.values())
    assert not (machine.root / "opt/vpnserver/running").exists()
    assert not (machine.root / "opt/vpnserver/admin-password").exists()
    assert machine.called("curl") is (boot != {"sha256": ""})
    assert machine.users == [] or "refused" in boot


def test_a_secret_that_cant_be_read_is_the_reason(machine: Machine) -> None:
    (machine.root / "secrets/vpn/bob").unlink()
    machine.boot()
    assert "--exit-code 1 --reason cannot read the VPN secret of bob" in machine.signal


def test_users_dont_reach_the_instances_credentials(booted: Machine) -> None:
    unit = (booted.root / "etc/systemd/system/softether.service").read_text()
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
    assert len(USER_DATA.read_bytes()) < 15 * 1024


def test_run_again_it_takes_changed_secrets_over_and_downloads_nothing(booted: Machine) -> None:
    (booted.root / "secrets/vpn/alice").write_text("AnotherPassword\n")
    (booted.root / "release").unlink()
    booted.boot(sha256="1" * 64)
    assert booted.signal.startswith("cfn-signal --exit-code 0")
    assert "UserPasswordSet alice /PASSWORD:AnotherPassword" in booted.lines("commands")
    assert (booted.root / "usr/local/sbin/softether-setup").read_text() == (booted.root / "user-data").read_text()


def test_nothing_changed_asks_the_server_for_its_users_alone(booted: Machine) -> None:
    booted.forget()
    assert booted.sync() == ""
    assert booted.lines("commands") == ["UserList"]


def test_a_new_person_is_let_in_and_a_former_one_is_put_out(booted: Machine) -> None:
    (booted.root / "sessions").write_text(
        "SID-SECURENAT-1,-,Local Session,SecureNAT,Virtual Host,None,0,0\n"
        "SID-BOB-[L2TP]-2,-,Local Session,Bob,203.0.113.7,1,0,0\n"
        "SID-ALICE-[L2TP]-3,-,Local Session,alice,203.0.113.8,1,0,0\n"
    )
    (booted.root / "secrets/vpn/carol").write_text("CarolsPassword\n")
    (booted.root / "secrets/users").write_text("alice,carol\n")
    booted.forget()
    shown = booted.sync()
    assert booted.users == ["alice", "carol"]
    commands = booted.lines("commands")
    assert "UserPasswordSet carol /PASSWORD:CarolsPassword" in commands
    assert [line for line in commands if line.startswith("SessionDisconnect")] == ["SessionDisconnect SID-BOB-[L2TP]-2"]
    assert shown.splitlines() == ["softether: bob may no longer connect", "softether: carol has the password of now"]


def test_an_empty_list_lets_nobody_in(booted: Machine) -> None:
    (booted.root / "secrets/users").write_text("-\n")
    booted.sync()
    assert booted.users == []


def test_a_rotated_password_is_taken_over_and_ends_the_sessions_of_the_old_one(booted: Machine) -> None:
    (booted.root / "sessions").write_text("SID-ALICE-[L2TP]-3,-,Local Session,alice,203.0.113.8,1,0,0\n")
    (booted.root / "secrets/vpn/alice").write_text("AlicesNextPassword\n")
    booted.forget()
    shown = booted.sync()
    assert booted.lines("commands") == [
        "UserList",
        "UserPasswordSet alice /PASSWORD:AlicesNextPassword",
        "SessionList",
        "SessionDisconnect SID-ALICE-[L2TP]-3",
    ]
    assert "AlicesNextPassword" not in shown


def test_a_rotated_pre_shared_key_is_taken_over(booted: Machine) -> None:
    (booted.root / "secrets/psk-arn").write_text("AnotherKey\n")
    booted.forget()
    booted.sync()
    assert any("/PSK:AnotherKey " in line for line in booted.lines("commands"))


def test_one_persons_secret_keeps_nobody_else_waiting(booted: Machine) -> None:
    (booted.root / "secrets/vpn/alice").unlink()
    (booted.root / "secrets/vpn/bob").write_text("BobsNextPassword\n")
    shown = booted.sync()
    assert "UserPasswordSet bob /PASSWORD:BobsNextPassword" in booted.lines("commands")
    assert booted.users == ["alice", "bob"]
    assert "softether: cannot read the VPN secret of alice" in shown
    assert booted.status == 1


def test_a_list_that_cant_be_read_changes_nothing_and_after_an_hour_nobody_stays_in(booted: Machine) -> None:
    (booted.root / "secrets/users").unlink()
    assert booted.sync().splitlines()[-1] == "softether: cannot read who may connect"
    assert booted.users == ["alice", "bob"]
    read = booted.root / "run/softether-people/.read"
    os.utime(read, (read.stat().st_atime - 3_700, read.stat().st_mtime - 3_700))
    assert "for more than 60 minutes: the VPN server is stopped" in booted.sync()
    assert not (booted.root / "opt/vpnserver/running").exists()
    (booted.root / "secrets/users").write_text("bob\n")
    booted.sync()
    assert booted.status == 0
    assert (booted.root / "opt/vpnserver/running").exists()
    assert booted.users == ["bob"]


def test_a_table_of_users_that_isnt_one_is_no_empty_list(booted: Machine) -> None:
    assert "softether: SoftEther shows no users" in booted.sync(refused="UserList")
    assert booted.users == ["alice", "bob"]


def test_a_reboot_puts_out_who_was_taken_from_the_list_meanwhile(booted: Machine) -> None:
    shutil.rmtree(booted.root / "run/softether-people")
    (booted.root / "secrets/users").write_text("bob\n")
    booted.sync()
    assert booted.users == ["bob"]


def test_a_server_that_isnt_set_up_is_left_alone(booted: Machine) -> None:
    (booted.root / "opt/vpnserver/admin-password").unlink()
    booted.forget()
    assert booted.sync() == "softether: the VPN server is not set up: run softether-setup\n"
    assert booted.lines("commands") == []
