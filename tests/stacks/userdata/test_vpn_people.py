"""The bastion's timer: access and passwords follow the current list and secrets."""

import os
import shutil

from tests.stacks.userdata.bastion import Machine


def test_nothing_changed_asks_the_server_for_its_users_alone(machine: Machine) -> None:
    machine.boot()
    machine.forget()
    assert machine.sync() == ""
    assert machine.lines("commands") == ["UserList"]


def test_a_new_person_is_let_in_and_a_former_one_is_put_out(machine: Machine) -> None:
    machine.boot()
    (machine.root / "sessions").write_text(
        "SID-SECURENAT-1,-,Local Session,SecureNAT,Virtual Host,None,0,0\n"
        "SID-BOB-[L2TP]-2,-,Local Session,Bob,203.0.113.7,1,0,0\n"
        "SID-ALICE-[L2TP]-3,-,Local Session,alice,203.0.113.8,1,0,0\n"
    )
    (machine.root / "secrets/vpn/carol").write_text("CarolsPassword\n")
    (machine.root / "secrets/users").write_text("alice,carol\n")
    machine.forget()
    shown = machine.sync()
    assert machine.users == ["alice", "carol"]
    commands = machine.lines("commands")
    assert "UserPasswordSet carol /PASSWORD:CarolsPassword" in commands
    assert [line for line in commands if line.startswith("SessionDisconnect")] == ["SessionDisconnect SID-BOB-[L2TP]-2"]
    assert shown.splitlines() == ["softether: bob may no longer connect", "softether: carol has the password of now"]


def test_an_empty_list_lets_nobody_in(machine: Machine) -> None:
    machine.boot()
    (machine.root / "secrets/users").write_text("-\n")
    machine.sync()
    assert machine.users == []


def test_a_rotated_password_is_taken_over_and_ends_the_sessions_of_the_old_one(machine: Machine) -> None:
    machine.boot()
    (machine.root / "sessions").write_text("SID-ALICE-[L2TP]-3,-,Local Session,alice,203.0.113.8,1,0,0\n")
    (machine.root / "secrets/vpn/alice").write_text("AlicesNextPassword\n")
    machine.forget()
    shown = machine.sync()
    assert machine.lines("commands") == [
        "UserList",
        "UserPasswordSet alice /PASSWORD:AlicesNextPassword",
        "SessionList",
        "SessionDisconnect SID-ALICE-[L2TP]-3",
    ]
    assert "AlicesNextPassword" not in shown


def test_a_rotated_pre_shared_key_is_taken_over(machine: Machine) -> None:
    machine.boot()
    (machine.root / "secrets/psk-arn").write_text("AnotherKey\n")
    machine.forget()
    machine.sync()
    assert any("/PSK:AnotherKey " in line for line in machine.lines("commands"))


def test_one_persons_secret_keeps_nobody_else_waiting(machine: Machine) -> None:
    machine.boot()
    (machine.root / "secrets/vpn/alice").unlink()
    (machine.root / "secrets/vpn/bob").write_text("BobsNextPassword\n")
    shown = machine.sync()
    assert "UserPasswordSet bob /PASSWORD:BobsNextPassword" in machine.lines("commands")
    assert machine.users == ["alice", "bob"]
    assert "softether: cannot read the VPN secret of alice" in shown
    assert machine.status == 1


def test_a_list_that_cant_be_read_changes_nothing_and_after_an_hour_nobody_stays_in(machine: Machine) -> None:
    machine.boot()
    (machine.root / "secrets/users").unlink()
    assert machine.sync().splitlines()[-1] == "softether: cannot read who may connect"
    assert machine.users == ["alice", "bob"]
    read = machine.root / "run/softether-people/.read"
    os.utime(read, (read.stat().st_atime - 3_700, read.stat().st_mtime - 3_700))
    assert "for more than 60 minutes: the VPN server is stopped" in machine.sync()
    assert not (machine.root / "opt/vpnserver/running").exists()
    (machine.root / "secrets/users").write_text("bob\n")
    machine.sync()
    assert machine.status == 0
    assert (machine.root / "opt/vpnserver/running").exists()
    assert machine.users == ["bob"]


def test_a_table_of_users_that_isnt_one_is_no_empty_list(machine: Machine) -> None:
    machine.boot()
    assert "softether: SoftEther shows no users" in machine.sync(refused="UserList")
    assert machine.users == ["alice", "bob"]


def test_a_reboot_puts_out_who_was_taken_from_the_list_meanwhile(machine: Machine) -> None:
    machine.boot()
    shutil.rmtree(machine.root / "run/softether-people")
    (machine.root / "secrets/users").write_text("bob\n")
    machine.sync()
    assert machine.users == ["bob"]


def test_a_server_that_isnt_set_up_is_left_alone(machine: Machine) -> None:
    machine.boot()
    (machine.root / "opt/vpnserver/admin-password").unlink()
    machine.forget()
    assert machine.sync() == "softether: the VPN server is not set up: run softether-setup\n"
    assert machine.lines("commands") == []
