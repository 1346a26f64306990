"""Passwords of the local broker's users: one each, in files that only their owner reads."""

import stat
from pathlib import Path

import pytest

from local.services.kafka import Kafka, KafkaUsers
from local.sink.__main__ import read_connection


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_each_user_has_a_password_of_its_own_that_stays(tmp_path: Path) -> None:
    users = KafkaUsers.of(tmp_path / "secrets", ["a", "b"])
    assert len(set(users.passwords.values())) == 4
    assert KafkaUsers.of(tmp_path / "secrets", ["a", "b"]).passwords == users.passwords
    assert mode(tmp_path / "secrets") == 0o700
    assert {mode(path) for path in (tmp_path / "secrets").iterdir()} == {0o600}


def test_no_password_is_shown(tmp_path: Path) -> None:
    kafka = Kafka(tmp_path, port=1, controller_port=2, users=KafkaUsers.of(tmp_path / "secrets", ["a"]))
    assert not [word for word in kafka.users.passwords.values() if word in repr(kafka.users)]


def test_a_client_file_is_its_owners_alone_and_reads_back(tmp_path: Path) -> None:
    users = KafkaUsers.of(tmp_path / "secrets", ["a"])
    path = users.client_file("a", "127.0.0.1:1")
    assert mode(path) == 0o600
    assert read_connection(path) == {"bootstrap.servers": "127.0.0.1:1", **users.login("a")}


def test_the_broker_lets_in_its_users_alone_and_asks_an_acl_for_everything(tmp_path: Path) -> None:
    users = KafkaUsers.of(tmp_path / "secrets", ["a"])
    properties = users.broker_properties
    for listener in ("clients", "controller"):
        module = properties[f"listener.name.{listener}.plain.sasl.jaas.config"]
        assert {f'user_{name}="{word}"' for name, word in users.passwords.items()} <= set(module.rstrip(";").split())
    assert properties["listener.security.protocol.map"] == "CLIENTS:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT"
    assert properties["allow.everyone.if.no.acl.found"] == "false"
    assert properties["super.users"] == "User:broker;User:admin"


@pytest.mark.usefixtures("own_jars")
def test_a_broker_of_other_users_is_not_current(tmp_path: Path) -> None:
    def broker(*roles: str) -> Kafka:
        users = KafkaUsers.of(tmp_path / "secrets", roles)
        return Kafka(tmp_path / "kafka", port=1, controller_port=2, users=users)

    assert not broker().is_current()
    (tmp_path / "kafka" / "data").mkdir(parents=True)
    broker("a").prepare()
    assert broker("a").is_current()
    assert not broker("a", "b").is_current()
    assert mode(tmp_path / "kafka" / "server.properties") == 0o600
