import socket
from collections.abc import Iterator

import pytest

from local.errors import PlatformError
from local.setup import ports


@pytest.fixture
def taken() -> Iterator[int]:
    """A port with a listening server."""
    with socket.socket() as listener:
        listener.bind((ports.HOST, 0))
        listener.listen()
        yield int(listener.getsockname()[1])


@pytest.mark.integration
def test_earlier_ports_are_used_again() -> None:
    earlier = ports.choose(["kafka", "connect"], earlier={})
    assert ports.choose(["connect", "kafka"], earlier=earlier) == earlier


@pytest.mark.integration
def test_a_taken_port_is_replaced_and_the_others_stay(taken: int) -> None:
    earlier = {**ports.choose(["connect"], earlier={}), "kafka": taken}
    chosen = ports.choose(["kafka", "connect"], earlier=earlier)
    assert chosen["connect"] == earlier["connect"]
    assert chosen["kafka"] != taken
    assert ports.is_free(chosen["kafka"])


@pytest.mark.integration
def test_a_running_services_own_port_is_kept(taken: int) -> None:
    assert ports.choose(["kafka"], earlier={"kafka": taken}, kept=["kafka"]) == {"kafka": taken}


@pytest.mark.integration
def test_new_ports_differ_and_lie_below_the_ephemeral_range() -> None:
    chosen = ports.choose(map(str, range(50)), earlier={})
    assert len(set(chosen.values())) == 50
    assert all(ports.LOWEST <= port <= ports.HIGHEST < 32_768 for port in chosen.values())


def test_no_free_port_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "is_free", lambda _port: False)
    with pytest.raises(PlatformError, match=r"no free port found on 127\.0\.0\.1 between 20000 and 29999"):
        ports.choose(["kafka"], earlier={})


@pytest.mark.integration
def test_accepts_connections_tells_a_listener_from_a_free_port(taken: int) -> None:
    assert ports.accepts_connections(taken)
    assert not ports.accepts_connections(ports.choose(["kafka"], earlier={})["kafka"])
