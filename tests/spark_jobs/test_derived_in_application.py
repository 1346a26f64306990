"""Derived tables beside captured ones in one Spark application, by spark-submit: kill -9, and one that can't be."""

import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from contract.events import READ_MS
from contract.history import COMMIT, ENDED, SUFFIX, VERSION
from local.look.lake import Lake as TableReader
from spark_jobs.options import keys, submit
from tests.spark_jobs.conftest import CONF, event
from tests.spark_jobs.test_multi_table_streamer import Tables, commits_of, states
from tests.spark_jobs.test_streamer import java_options
from tests.waiting import PATIENCE_S

__all__ = ["java_options"]


class Derived(Tables):
    """Tables whose orders are landed, and tables derived from the first of them."""

    def derived(self, name: str, query: str) -> submit.TableJob:
        configuration = {
            keys.SQL_QUERY: query,
            keys.SQL_TABLES: f"first={self.folder / 'lake' / 'first'}",
            keys.RECORD_KEY: "order_id",
        }
        return self.table(
            name,
            landing=None,
            schema_file=None,
            properties_file=str(CONF / "lean.properties"),
            ordering_field=READ_MS,
            configuration=configuration,
        )

    def history(self, name: str) -> submit.TableJob:
        configuration = {
            keys.HISTORY_OF: str(self.folder / "lake" / name),
            keys.RECORD_KEY: f"order_id,{COMMIT},{VERSION}",
        }
        return self.table(
            f"{name}{SUFFIX}",
            landing=None,
            schema_file=None,
            properties_file=str(CONF / "lean.properties"),
            ordering_field=COMMIT,
            configuration=configuration,
        )

    def versions(self, name: str) -> list[tuple[int, str | None, bool]]:
        """Key and customer of each version, those of a key in their order, and whether it is the end of the row."""
        reader = TableReader(base_uri=str(self.folder / "lake" / f"{name}{SUFFIX}"))
        found = reader.rows(["order_id", "customer_id", ENDED, COMMIT, VERSION]).to_pylist() if reader.exists() else []
        in_order = sorted(found, key=lambda row: (row["order_id"], row[COMMIT], row[VERSION]))
        return [(row["order_id"], row["customer_id"], row[ENDED]) for row in in_order]

    def customers(self, name: str) -> dict[int, Any]:
        reader = TableReader(base_uri=str(self.folder / "lake" / name))
        found = reader.rows(["order_id", "customer_id"]).to_pylist() if reader.exists() else []
        return {row["order_id"]: row["customer_id"] for row in found}


@pytest.fixture
def tables(tmp_path: Path, glue_endpoint: str, java_options: Sequence[str]) -> Iterator[Derived]:
    tables = Derived(tmp_path, glue_endpoint, java_options)
    yield tables
    for job in tables.jobs:
        job.end()


@pytest.mark.integration
def test_what_is_made_of_others_goes_on_after_kill_9_and_one_that_can_not_be_holds_up_nobody(tables: Derived) -> None:
    jobs = [
        tables.table("first", configuration={keys.HISTORY_KEPT: "true"}),
        tables.derived("good", "SELECT order_id, lower(customer_id) AS customer_id FROM first"),
        tables.derived("bad", "SELECT 1 AS order_id, customer_id FROM first"),
        tables.history("first"),
    ]
    tables.land("first", event(1, 10, "c"), event(2, 10, "c"), event(3, 10, "c", customer_id="OTHER"))
    job = tables.start(jobs)
    job.wait_for(lambda: commits_of(job, "good") and commits_of(job, "first_history"), "commits of both")
    job.wait_for(lambda: "failing" in states(job, "bad"), "word of the one that can't be")
    assert "3 rows of one key, so order_id doesn't tell its rows apart" in job.output.read_text()
    tables.land(
        "first", event(1, 20, "u", customer_id="NEW"), event(2, 21, "d"), event(1, 22, "u", customer_id="NEWER")
    )
    job.wait_for(lambda: commits_of(job, "first") == 2, "second commit of the captured table")
    job.process.send_signal(signal.SIGKILL)
    job.process.wait(PATIENCE_S)
    job = tables.start(jobs)
    job.wait_for(lambda: tables.customers("good") == {1: "newer", 3: "other"}, "the derived table's changes")
    assert tables.customers("bad") == {}
    versions: list[tuple[int, str | None, bool]] = [(1, name, False) for name in ("VINET", "NEW", "NEWER")]
    versions += [(2, "VINET", False), (2, None, True), (3, "OTHER", False)]
    job.wait_for(lambda: tables.versions("first") == versions, "each version once")
    assert job.terminate(signal.SIGTERM) == 0
    assert states(job, "good")[-1] == "stopped"
