"""How the real connector treats a value, and which values the stand-in accepts: docs/decisions/0040."""

import json
import struct

import pytest

from local.sink.settings import MalformedValueError
from local.sink.values import LONGEST_STRING, check_key, content, line
from local.tools.worker_classes import java_gateway
from tests.cases import chance

BIG = "123456789012345678901234567890"
LONG_DECIMAL = "1234567890.1234567890"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b'{"a": "1\\n2"}', b'{"a": "1\\n2"}\n'),
        (b'{\r\n "a": 1\n}', b'{   "a": 1 }\n'),
        ('"ü\u2028\x85"'.encode(), '"ü\u2028\x85"\n'.encode()),
        (b'{"a": {}, "b": [], "c": ""}', b'{"a": {}, "b": [], "c": ""}\n'),
    ],
)
def test_a_value_becomes_one_line_and_is_unchanged_else(value: bytes, text: bytes) -> None:
    assert line(value) == text


@pytest.mark.parametrize("value", [None, b"", b" \n\t", b"null", b" null\n"])
def test_what_the_connector_skips_is_skipped(value: bytes | None) -> None:
    assert line(value) is None


@pytest.mark.parametrize(
    "value", [b"{", b"not JSON", b"\xff", b"{} {}", b"NaN", b'{"a": Infinity}', b"[" * 5_000, '"x"'.encode("utf-16")]
)
def test_what_the_connector_cant_read_is_refused(value: bytes) -> None:
    with pytest.raises(MalformedValueError, match=r"^the value isn't JSON$"):
        line(value)


def test_a_key_that_the_connector_cant_read_is_refused() -> None:
    for key in (None, b"", b'{"order_id": 1}', b"7"):
        check_key(key)
    with pytest.raises(MalformedValueError, match=r"^the key isn't JSON$"):
        check_key(b"k")


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (f'{{"a": {BIG}}}', "a"),
        (f'{{"a": {LONG_DECIMAL}}}', "a"),
        (f'{{"a": [1, {{"b": {BIG}}}]}}', "a[1].b"),
        (f"[{BIG}]", "[0]"),
        (BIG, "the top"),
        ('{"a": 9223372036854775808}', "a"),
        ('{"a": -9223372036854775809}', "a"),
        ('{"a": 1e999}', "a"),
        ('{"a": 12345678901234567.5}', "a"),
        ('{"a": 1234567890123456.78}', "a"),
        ('{"a": 1e-999}', "a"),
        ('{"a": ' + "1" * 1_001 + "}", "a"),
    ],
)
def test_a_number_that_the_connector_would_change_is_refused_by_its_place_alone(value: str, place: str) -> None:
    with pytest.raises(MalformedValueError) as refusal:
        line(value.encode())
    reason = str(refusal.value)
    assert reason.startswith(f"the number at {place} fits neither a long nor a double")
    assert BIG not in reason
    assert "\n" not in reason


@pytest.mark.parametrize(
    "value",
    [
        '{"a": 9223372036854775807, "b": -9223372036854775808, "c": -0, "d": 0.1, "e": 1.10, "f": 1E5, "g": 5e-324}',
        json.dumps({"a": BIG, "b": [LONG_DECIMAL], "document": json.dumps({"price": 1, "big": int(BIG)})}),
        f'{{"a": {BIG}, "a": 1}}',
    ],
)
def test_numbers_that_fit_or_travel_as_text_pass(value: str) -> None:
    assert line(value.encode()) == value.encode() + b"\n"


def test_whatever_python_writes_of_a_double_is_the_same_number_for_the_connector() -> None:
    chosen = chance()
    for _ in range(2_000):
        number = chosen.uniform(-1, 1) * 10 ** chosen.randrange(-300, 300)
        assert content(json.dumps([number, int(number) % 2**63]).encode()) == [number, int(number) % 2**63]


@pytest.mark.integration
def test_no_double_as_java_spells_it_is_refused_or_read_as_another() -> None:
    count = 20_000
    ranges = [(0.0, 1e-309), (1e16, 1e19), (1e-5, 1e7), (1e22, 1e26), (-1e19, -1e-300)]
    with java_gateway() as gateway:
        java = gateway.jvm.java
        for seed, (low, high) in enumerate(ranges):
            doubles = java.util.Random(seed).doubles(count, low, high).toArray()
            bits = java.nio.ByteBuffer.allocate(8 * count)
            bits.asDoubleBuffer().put(doubles)
            spelled = java.util.Arrays.toString(doubles).encode()
            assert content(spelled) == list(struct.unpack(f">{count}d", bits.array()))


def test_of_equal_names_the_last_one_counts() -> None:
    assert content(b'{"a": 1, "a": {"b": 2, "b": 3}}') == {"a": {"b": 3}}


def test_a_text_that_is_too_long_for_the_connector_is_refused() -> None:
    assert line(b'["' + b"x" * LONGEST_STRING + b'"]') is not None
    with pytest.raises(MalformedValueError, match="more than 20,000,000 characters"):
        line(b'{"a": ["' + b"x" * (LONGEST_STRING + 1) + b'"]}')
