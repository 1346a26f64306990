"""How readers connect, without a broker: the login is signed here, and only MSK could check it."""

import base64
import re
import socket
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock
from urllib.parse import parse_qs, urlparse

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_NOT_AVAILABLE, KafkaError, KafkaException

from operate.errors import OperateError
from operate.kafka import reader
from operate.kafka.cluster import Cluster, check_reachable
from operate.kafka.reader import Reader, configuration, connect
from plugins.kafka.msk_login import login
from plugins.kafka.topics import READER_GROUP
from tests.conftest import free_port
from tests.operate.conftest import without_credentials

SECRET = "nobodys-secret-key"
MSK = Cluster(
    environment="dev", bootstrap_servers="b-1.example:9098,b-2.example:9098", topics={"t": "t"}, region="ap-southeast-2"
)

LOGIN = {"security.protocol": "SASL_PLAINTEXT", "sasl.username": "reader"}
LOCAL = Cluster(environment="local", bootstrap_servers="127.0.0.1:1", topics={"t": "t"}, login=LOGIN)


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without_credentials(monkeypatch, tmp_path)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)


def test_msk_is_reached_by_iam_over_tls_and_the_local_broker_by_its_own_login() -> None:
    settings = configuration(MSK)
    assert (settings["security.protocol"], settings["sasl.mechanisms"]) == ("SASL_SSL", "OAUTHBEARER")
    assert getattr(settings["oauth_cb"], "func", None) is login
    assert (settings["enable.auto.commit"], settings["allow.auto.create.topics"]) == (False, False)
    assert settings["group.id"] == READER_GROUP == "cdc-lake-operate"
    logs_in = {name for name in configuration(LOCAL) if name.startswith(("security", "sasl", "oauth", "ssl"))}
    assert logs_in == set(LOGIN)


@pytest.mark.usefixtures("credentials")
def test_the_login_is_signed_for_msk_in_the_region_and_holds_no_secret() -> None:
    token, expires = login("ap-southeast-2")
    url = urlparse(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode())
    query = parse_qs(url.query)
    assert url.hostname == "kafka.ap-southeast-2.amazonaws.com"
    assert query["Action"] == ["kafka-cluster:Connect"]
    assert query["X-Amz-Credential"][0].startswith("AKIDEXAMPLE/")
    assert query["X-Amz-Credential"][0].endswith("/ap-southeast-2/kafka-cluster/aws4_request")
    assert 60 < expires - time.time() <= 900
    assert SECRET not in url.geturl()


@pytest.mark.integration
@pytest.mark.usefixtures("credentials")
def test_librdkafka_takes_the_settings_and_asks_for_a_login() -> None:
    asked = []

    def ask(setting: str) -> tuple[str, float]:
        asked.append(setting)
        return login("ap-southeast-2", setting)

    here = f"127.0.0.1:{free_port()}"
    Reader(configuration(MSK) | {"bootstrap.servers": here, "oauth_cb": ask}).close()
    assert asked


def test_no_credentials_is_one_line_before_anything_connects(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without_credentials(monkeypatch, tmp_path)
    with pytest.raises(OperateError, match="no AWS credentials to log in to Kafka with: log in"), connect(MSK):
        pass


def test_brokers_behind_a_vpn_that_is_off_are_given_up_within_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    # Only waiting advances this clock: simulates a private address without a route.
    now = [0.0]

    def wait(_address: object, timeout: float) -> None:
        now[0] += timeout
        raise TimeoutError("timed out")

    monkeypatch.setattr("operate.kafka.cluster.time.monotonic", lambda: now[0])
    monkeypatch.setattr("operate.kafka.cluster.socket.create_connection", wait)
    with pytest.raises(OperateError, match=r"b-1.example: timed out\): connect the VPN"):
        check_reachable(MSK)
    assert 5 < now[0] < 10


@pytest.mark.integration
def test_one_broker_that_answers_is_enough_and_without_one_a_line_names_the_vpn() -> None:
    servers = ",".join(f"127.0.0.1:{free_port()}" for _ in range(2))
    gone = Cluster(environment="dev", bootstrap_servers=servers, topics={"t": "t"}, region="ap-southeast-2")
    line = r"^no Kafka broker of dev answers \(.*refused\): connect the VPN \(docs/aws/vpn"
    with pytest.raises(OperateError, match=line):
        check_reachable(gone)
    with socket.create_server(("127.0.0.1", 0)) as server:
        check_reachable(replace(gone, bootstrap_servers=f"{servers},127.0.0.1:{server.getsockname()[1]}"))


AWAY, BACK = KafkaException(KafkaError(KafkaError._TRANSPORT)), SimpleNamespace(topics={})


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> tuple[Mock, Reader]:
    """A consumer that receives nothing."""
    consumer = Mock(**{"poll.return_value": None, "list_topics.return_value": BACK})
    monkeypatch.setattr(reader, "POLL_S", 0.001)
    monkeypatch.setattr(reader, "Consumer", lambda _settings: consumer)
    return consumer, Reader({})


@pytest.mark.parametrize(
    ("cluster", "code", "line"),
    [
        (MSK, KafkaError.GROUP_AUTHORIZATION_FAILED, "your IAM role may not do that on dev's Kafka: .+"),
        (
            LOCAL,
            KafkaError.TOPIC_AUTHORIZATION_FAILED,
            "the user reader may not do that on local's Kafka: .*Topic.+",
        ),
        (LOCAL, KafkaError._TRANSPORT, r"local's Kafka doesn't answer \(.+\): run `./lake up` and try again"),
        (LOCAL, KafkaError.OFFSET_OUT_OF_RANGE, "local's Kafka: .*out of range.*"),
    ],
)
def test_what_kafka_refuses_is_one_line(idle: tuple[Mock, Reader], cluster: Cluster, code: int, line: str) -> None:
    assert re.fullmatch(line, idle[1].explain(cluster, KafkaError(code)))


def test_a_record_has_a_time_unless_kafka_knows_none() -> None:
    stamps = iter([(TIMESTAMP_CREATE_TIME, 1_700_000_000_123), (TIMESTAMP_NOT_AVAILABLE, -1)])
    message: Any = SimpleNamespace(timestamp=lambda: next(stamps))
    assert [reader._time(message) for _ in range(2)] == ["2023-11-14T22:13:20.123Z", "-"]


@pytest.mark.parametrize(
    ("raw", "shown"),
    [(b'"\\ud83d\\ude00"', '"\N{GRINNING FACE}"'), (b'"\\ud83d"', r'"\ud83d"'), (b'"\\u009b2J"', r'"\u009b2J"')],
)
def test_a_value_is_written_so_that_a_terminal_can_show_it(raw: bytes, shown: str) -> None:
    assert reader._json(reader._decode(raw)) == shown
    assert shown.encode()


def test_a_reader_goes_on_when_brokers_come_back(idle: tuple[Mock, Reader]) -> None:
    consumer, waiting = idle
    assert waiting.partitions() == {}
    for _ in range(2):
        waiting.report(KafkaError(KafkaError._ALL_BROKERS_DOWN))
        for ask, answer in ((lambda: waiting.poll(0), None), (waiting.partitions, {})):
            consumer.list_topics.side_effect = answers = iter([AWAY, AWAY, AWAY, BACK])
            assert ask() == answer
            assert [*answers] == []
    assert all(call.kwargs["timeout"] for call in consumer.list_topics.call_args_list)


def test_a_reader_is_refused_at_once(idle: tuple[Mock, Reader]) -> None:
    _, waiting = idle
    waiting.report(KafkaError(KafkaError._AUTHENTICATION))
    with pytest.raises(KafkaException):
        waiting.poll(0)
    assert waiting.explain(MSK, KafkaError(KafkaError._TRANSPORT)).startswith("dev's Kafka doesn't let you in: ")


def test_absent_brokers_are_given_up(idle: tuple[Mock, Reader], monkeypatch: pytest.MonkeyPatch) -> None:
    consumer, waiting = idle
    consumer.list_topics.side_effect = [AWAY, BACK]
    with pytest.raises(KafkaException):
        waiting.partitions()  # they never answered
    assert waiting.partitions() == {}
    monkeypatch.setattr(reader, "OUTAGE_S", 0.01)
    consumer.list_topics.side_effect = AWAY
    waiting.report(KafkaError(KafkaError._ALL_BROKERS_DOWN))
    for ask in (lambda: waiting.poll(0), waiting.partitions):
        with pytest.raises(KafkaException):
            ask()
