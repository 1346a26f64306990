"""The guard that keeps unit tests off the network."""

import socket
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import psycopg2
import pytest
from botocore.exceptions import HTTPClientError

from tests.conftest import free_port
from tests.no_network import NetworkUsedError, NoNetwork

DISCARD = ("127.0.0.1", 9)


def datagram() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"x", DISCARD)


def quiet() -> None:
    with socket.socket() as sock:
        sock.connect_ex(DISCARD)


def aws() -> None:
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}
    boto3.client("sts", endpoint_url="http://127.0.0.1:9", **keys).get_caller_identity()  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "opens",
    [
        lambda: socket.create_connection(DISCARD, timeout=1),
        quiet,
        datagram,
        free_port,
        lambda: socket.getaddrinfo("example.com", 443),
        lambda: urllib.request.urlopen("http://127.0.0.1:9/", timeout=1),
        aws,
        lambda: psycopg2.connect(host="127.0.0.1", port=9, password="Secret/1"),
    ],
)
def test_whatever_opens_a_connection_is_refused_and_remembered(no_network: NoNetwork, opens: Callable[[], Any]) -> None:
    # botocore wraps what it doesn't know.
    with pytest.raises((NetworkUsedError, HTTPClientError), match="a unit test has no network"):
        opens()
    assert no_network.refused
    assert "Secret/1" not in "".join(no_network.refused)
    no_network.refused.clear()


def test_a_swallowed_refusal_fails_the_test(no_network: NoNetwork) -> None:
    with pytest.raises(NetworkUsedError):
        socket.create_connection(DISCARD)
    with pytest.raises(pytest.fail.Exception, match=r"mark it `integration`, or use a seam"):
        no_network.check()
    no_network.refused.clear()


def test_unix_sockets_are_left_alone(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(str(tmp_path / "s"))
        server.listen()
        client.connect(str(tmp_path / "s"))
        client.sendall(b"x")
        with server.accept()[0] as accepted:
            assert accepted.recv(1) == b"x"
