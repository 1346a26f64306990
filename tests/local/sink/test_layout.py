import pytest

from local.sink.errors import MalformedValueError
from local.sink.layout import Layout, Span, last_offset
from plugins.kcql import Kcql


def layout(*partition_by: str) -> Layout:
    return Layout(
        Kcql(
            bucket="landing",
            prefix="cdc-events",
            topic="demo.datalake.cdc_events",
            flush_interval_seconds=1,
            flush_count=5,
            partition_by=partition_by,
        )
    )


def test_without_folders_names_sort_by_offset() -> None:
    ordered = layout()
    folder = ordered.folder(3, b"whatever")
    key = ordered.key(folder, 3, Span(last_offset=55, earliest_ms=1795216992726, latest_ms=1795216992999))
    assert key == "cdc-events/demo.datalake.cdc_events/3/000000000055_1795216992726_1795216992999.json"
    assert last_offset(key) == 55


def test_with_folders_names_tell_topic_partition_and_last_offset() -> None:
    folders = layout("customer_id", "order_id")
    folder = folders.folder(0, b'{"order_id": 100, "customer_id": 7}')
    key = folders.key(folder, 0, Span(last_offset=55, earliest_ms=1, latest_ms=2))
    assert key == "cdc-events/customer_id=7/order_id=100/demo.datalake.cdc_events(0_000000000055).json"
    assert last_offset(key) is None


@pytest.mark.parametrize(
    ("value", "folder"),
    [
        ('{"a": null}', "a=[missing]"),
        ('{"b": 1}', "a=[missing]"),
        ('{"a": "VINET"}', "a=VINET"),
        ('{"a": "x/y z=ü%20"}', "a=x/y z=ü%20"),
        ('{"a": true}', "a=true"),
        ('{"a": 1.5}', "a=1.5"),
        ('{"a": ""}', "a="),
    ],
)
def test_folder_values_stand_as_they_are(value: str, folder: str) -> None:
    assert layout("a").folder(0, value.encode()) == f"cdc-events/{folder}"


@pytest.mark.parametrize("value", [b"{", b"[1]", b'"x"', b"\xff", b'{"a": {}}', b'{"a": []}'])
def test_a_value_without_a_folder_is_malformed(value: bytes) -> None:
    with pytest.raises(MalformedValueError, match=r"folder|isn't JSON"):
        layout("a").folder(0, value)


def test_without_folders_a_value_isnt_looked_into() -> None:
    assert layout().folder(0, b"\xff{") == "cdc-events/demo.datalake.cdc_events/0"


@pytest.mark.parametrize("key", ["a/1_2_3.json", "a/000000000001_2_3.json.tmp", "a/topic(0_000000000055).json", "a/"])
def test_other_names_have_no_offset(key: str) -> None:
    assert last_offset(key) is None
