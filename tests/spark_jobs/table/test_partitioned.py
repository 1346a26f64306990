"""A partitioned table: its folders, rows that move, another index, and what Hudi's sync tool tells Glue (moto)."""

import time
from collections.abc import Mapping
from typing import Any

import pytest
from moto.glue.responses import GlueResponse
from pyspark.sql import functions as F

from spark_jobs.decoding.row_keys import DEFAULT
from spark_jobs.errors import SettingsError
from spark_jobs.table import glue
from spark_jobs.table.glue import sync_to_glue
from tests.spark_jobs.decoding.test_row_keys import INDEX, PARTITIONED, key_only_delete
from tests.spark_jobs.events import event, glue_table
from tests.spark_jobs.lake import Lake

TEXTS = ("a/../../../esc", "a:b", ".", "..", "x=[y]%2F")


@pytest.fixture(name="slow_updates")
def _slow_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Glue with a slow UpdateTable: an update that isn't awaited loses to the next."""
    update = GlueResponse.update_table

    def slow(response: GlueResponse) -> Any:
        time.sleep(0.5)
        return update(response)

    monkeypatch.setattr(GlueResponse, "update_table", slow)


def synced(lake: Lake) -> bool:
    decided = lake.settings()
    assert decided.sync is not None
    return sync_to_glue(lake.spark, decided.sync, decided.table)


def types(endpoint: str) -> dict[str, str]:
    columns = glue_table(endpoint)["StorageDescriptor"]["Columns"]
    return {column["Name"]: column["Type"] for column in columns}


@pytest.mark.integration
@pytest.mark.usefixtures("slow_updates")
def test_any_text_is_one_folder_rows_move_between_them_and_glue_learns_each(
    lake: Lake, empty_glue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.conf, lake.arguments = PARTITIONED, ("--enable-sync",)
    assert synced(lake) is False  # nothing there yet: no error
    texts = dict(enumerate([*TEXTS, None, ""]))
    _place(lake, texts)
    # As tables of before were synced.
    lake.extra = {"hoodie.datasource.hive_sync.support_timestamp": "false"}
    assert synced(lake)
    assert types(empty_glue)["updated_at"] == "bigint"
    lake.extra = {}
    _move(lake, {*texts} - {1})
    for _ in range(2):
        assert synced(lake)
        _compare_with_glue(empty_glue)
    _fail(lake, monkeypatch)
    _change_index(lake)


def _place(lake: Lake, texts: Mapping[int, str | None]) -> None:
    unplaceable = [event(8, 10, "c", customer_id=DEFAULT), event(9, 10, "c", customer_id="%" * 100)]
    given = {**texts, 11: "A", 12: "A", 13: "B"}
    report = lake.run(*(event(key, 10, "c", customer_id=text) for key, text in given.items()), *unplaceable)
    assert (report.upserts, report.quarantined) == (10, 2)
    assert lake.quarantined()[0]["reason"] == f"partition: customer_id can't be a folder's name: {DEFAULT}"
    # A reader that uses folders, like Athena, takes the value from there.
    found = {key: row["customer_id"] for key, row in lake.rows(by_spark=True).items()}
    assert found == {key: text or None for key, text in given.items()}
    assert [row["order_id"] for row in lake.frame().filter(F.col("customer_id") == "a:b").collect()] == [1]
    assert {path.name for path in lake.folder.iterdir()} == {"landing", "lake"}
    assert {path.parents[1] for path in lake.folder.rglob("*.parquet")} == {
        lake.table_path / f"customer_id={name}"
        for name in ("a%2F..%2F..%2F..%2Fesc", "a%3Ab", ".", "..", "x%3D%5By%5D%252F", DEFAULT, "A", "B")
    }
    assert (lake.table_path / "customer_id=A" / "order_id=11").is_dir()


def _move(lake: Lake, others: set[int]) -> None:
    """Move a row, and delete two; a delete with only the key finds its row through the global index."""
    changed = [event(11, 20, customer_id="B"), event(12, 30, "d", customer_id="A"), event(13, 5, customer_id="OLD")]
    assert lake.run(*changed, key_only_delete(1, 20), event(14, 20, "c", customer_id="B", note="new")).quarantined == 0
    # ComplexKeyGenerator's encoding of a single key field differs by Hudi version: 0.14.1 to 1.0 write only the value.
    places = {row["_hoodie_record_key"]: row["_hoodie_partition_path"] for row in lake.frame().collect()}
    assert set(places) == set(map(str, others | {11, 13, 14}))
    assert all(places[key] == f"customer_id=B/order_id={key}" for key in ("11", "13", "14"))


def _compare_with_glue(endpoint: str) -> None:
    """Athena takes the values from Glue: the plain text there, the folder in the location."""
    named = ("order_date", "order_items", "note", "__lsn", "updated_at")
    assert [types(endpoint)[name] for name in named] == ["date", "string", "string", "bigint", "timestamp"]
    table = glue_table(endpoint)
    assert [key["Name"] for key in table["PartitionKeys"]] == ["customer_id", "order_id"]
    listed = [(text, str(number)) for number, text in enumerate([*TEXTS, DEFAULT, DEFAULT])]
    listed += [("A", "11"), ("A", "12"), ("B", "11"), ("B", "13"), ("B", "14")]
    assert table["partitions"] == sorted(listed)
    assert table["Parameters"]["athena_enable_native_hudi_connector_implementation"] == "true"


def _fail(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sync that fails before the tool's own work leaves no client open."""

    def fails(_spark: object, client: Any, _table: str) -> None:
        clients.append(client)
        raise OSError("Glue is away")

    clients = list[Any]()
    with monkeypatch.context() as patch:
        patch.setattr(glue, "_give_instants_their_type", fails)
        with pytest.raises(OSError, match="Glue is away"):
            synced(lake)
    with pytest.raises(Exception, match=r"closed|shut down|terminated"):
        clients[0].tableExists("cdc_events")


def _change_index(lake: Lake) -> None:
    """A global index may become another global one, and nothing else."""
    for index, message in [("SIMPLE", "per partition"), ("BUCKET", "BUCKET")]:
        lake.extra = {INDEX: index}
        with pytest.raises(SettingsError, match=f"with the index global, the settings say {message}"):
            lake.job()
    lake.extra = {INDEX: "GLOBAL_BLOOM"}
    kept = set(lake.rows())
    # Without a value a row goes to Hudi's default partition.
    assert lake.run(event(13, 40, customer_id=None), event(11, 40, customer_id="C")).quarantined == 0
    assert (lake.table_path / f"customer_id={DEFAULT}" / "order_id=13").is_dir()
    rows = lake.rows()
    assert set(rows) == kept
    assert [rows[key]["customer_id"] for key in (11, 13, 14)] == ["C", None, "B"]
