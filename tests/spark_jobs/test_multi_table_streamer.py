"""Many tables in one Spark application, by spark-submit: side by side, each with its own fate."""

import re
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from local.look.lake import Lake as TableReader
from local.services.spark import MULTI_TABLE_JOB
from spark_jobs.options import keys, submit
from tests.spark_jobs.conftest import CONF, SCHEMA, as_lines, event
from tests.spark_jobs.test_streamer import Job, java_options

__all__ = ["java_options"]

TABLES = ("first", "second", "third")


class Tables:
    """Some tables' landing folders, settings and lake, and the application that keeps them."""

    def __init__(self, folder: Path, glue_endpoint: str, java_options: Sequence[str]) -> None:
        self.folder = folder
        self.glue_endpoint = glue_endpoint
        self.java_options = java_options
        self.offsets = dict.fromkeys(TABLES, 0)
        self.jobs: list[Job] = []
        (folder / "conf").mkdir()

    def table(self, name: str, **changes: Any) -> submit.TableJob:
        own: dict[str, Any] = {
            "landing": str(self.folder / "landing" / f"shop.public.{name}"),
            "table_path": str(self.folder / "lake" / name),
            "properties_file": str(CONF / "cdc_events.properties"),
            "schema_file": str(SCHEMA),
            "sync_interval_seconds": 0,
        }
        return submit.TableJob(database="shop", table=name, **(own | changes))

    def land(self, name: str, *lines: dict[str, Any] | str) -> None:
        self.offsets[name] += len(lines)
        path = self.folder / "landing" / f"shop.public.{name}" / "0" / f"{self.offsets[name] - 1:012d}_1_2.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(".part")
        part.write_text(as_lines(lines))
        part.rename(path)

    def start(self, tables: Sequence[submit.TableJob], *, continuous: bool = True) -> Job:
        files = {}
        for table in tables:
            path = self.folder / "conf" / f"{table.table}.properties"
            path.write_text(submit.table_properties(table))
            files[table.name] = str(path)
        properties_file = self.folder / "conf" / "list.properties"
        common = {keys.POLL_INTERVAL: "0.2", keys.STOP_FILE: str(self.folder / "stop")}
        properties_file.write_text(submit.list_properties(files, common))
        arguments = submit.multi_table_arguments(
            properties_file=str(properties_file),
            config_folder=str(self.folder / "conf"),
            base_path_prefix=str(self.folder / "lake"),
        )
        unwanted = {"--enable-sync"} | (set() if continuous else {"--continuous"})
        arguments = [argument for argument in arguments if argument not in unwanted]
        program = MULTI_TABLE_JOB
        job = Job(self.folder, arguments, self.glue_endpoint, program=program, java_options=self.java_options)
        self.jobs.append(job)
        return job

    def rows(self, name: str) -> list[int]:
        found: pyarrow.Table = TableReader(base_uri=str(self.folder / "lake" / name)).rows(["order_id"])
        return sorted(found["order_id"].to_pylist())


@pytest.fixture
def tables(tmp_path: Path, glue_endpoint: str, java_options: list[str]) -> Iterator[Tables]:
    tables = Tables(tmp_path, glue_endpoint, java_options)
    yield tables
    for job in tables.jobs:
        job.end()


def commits_of(job: Job, name: str) -> int:
    return sum(commit["table"] == f"shop.{name}" for commit in job.commits())


def states(job: Job, name: str) -> list[str]:
    """The states that a table went through."""
    return re.findall(rf"^table=shop\.{name} state=(\w+)", job.output.read_text(), re.MULTILINE)


@pytest.mark.integration
def test_a_table_that_fails_leaves_the_others_alone_until_it_is_mended(tables: Tables) -> None:
    for name in TABLES:
        tables.land(name, event(1, 10, "c"))
    absent = tables.folder / "conf" / "second.avsc"
    job = tables.start([tables.table("first"), tables.table("second", schema_file=str(absent)), tables.table("third")])
    job.wait_for(lambda: commits_of(job, "first") and commits_of(job, "third"), "commit of the others")
    job.wait_for(lambda: "failing" in states(job, "second"), "word of the failing one")
    assert f"shop.second: attempt 1 failed, again in 1 s: {absent}: no such file" in job.output.read_text()
    tables.land("first", event(2, 20, "c"))
    job.wait_for(lambda: commits_of(job, "first") == 2, "second commit")
    absent.write_text(SCHEMA.read_text())
    job.wait_for(lambda: commits_of(job, "second"), "commit of the one that was mended")
    assert states(job, "second") == ["starting", "failing", "running"]
    assert [tables.rows(name) for name in TABLES] == [[1, 2], [1], [1]]
    # Each has its own claim, and a stop ends all of them between two commits.
    assert sorted(path.name for path in (tables.folder / "lake" / "_claims").iterdir()) == sorted(TABLES)
    assert job.terminate(signal.SIGTERM) == 0
    assert {states(job, name)[-1] for name in TABLES} == {"stopped"}
    assert "Traceback" not in job.output.read_text()


@pytest.mark.long
@pytest.mark.integration
def test_without_continuous_all_is_read_and_a_failed_table_is_told(tables: Tables) -> None:
    tables.land("first", event(1, 10, "c"), event(2, 10, "c"))
    tables.land("second", *["{"] * 3)
    tables.land("third", event(1, 10, "c"), event(2, 10, "c"))
    strict = tables.table("second", configuration={keys.QUARANTINE_LIMIT: "2"})
    same_place = tables.table("third", table_path=str(tables.folder / "lake" / "first"))
    job = tables.start([tables.table("first"), strict, same_place], continuous=False)
    assert job.process.wait(200) == 1
    output = job.output.read_text()
    # Of the two tables of one base path the first to come has it.
    assert re.search(
        r"^error: 2 of 3 tables failed: shop\.(first, shop\.second|second, shop\.third)$", output, re.MULTILINE
    )
    assert "shop.second: error: 3 of 3 events don't fit, such as" in output
    assert "base path, too: give each table its own" in output


@pytest.mark.long
@pytest.mark.integration
def test_a_stop_file_ends_all_tables(tables: Tables) -> None:
    (tables.folder / "stop").touch()
    job = tables.start([tables.table(name) for name in TABLES])
    assert job.process.wait(200) == 0
    assert f"stopped by {tables.folder / 'stop'}" in job.output.read_text()
