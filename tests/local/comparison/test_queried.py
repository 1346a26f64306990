"""Comparisons and repairs of queried data: views, queries, and tables whose job reads them again."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from local.comparison.compare import TableComparison
from local.comparison.describe import Compared
from local.comparison.repair import repairs_of_queried
from local.comparison.run import Sides, compare_tables
from local.look.lake import Lake
from local.services.postgres import ConnectionParameters
from settings.pipeline import CapturedTableSettings
from tests.conftest import execute
from tests.local.comparison.sides import AT_ONCE, ArrowLake

pytestmark = pytest.mark.integration
BOTH = pyarrow.table({"id": pyarrow.array([1, 2], pyarrow.int32()), "name": ["a", "b"]})


@pytest.fixture
def source(database: ConnectionParameters) -> ConnectionParameters:
    execute(
        database,
        "CREATE TABLE people (id int PRIMARY KEY, name text); INSERT INTO people VALUES (1, 'a'), (2, 'b');"
        " CREATE VIEW seen AS SELECT * FROM people; CREATE TABLE older () INHERITS (people)",
    )
    return database


def entry(lake: Lake, folder: Path, **more: Any) -> Compared:
    schema_file = folder / "table.avsc"
    schema_file.write_text(json.dumps({"fields": []}))
    values = {"how": "query", "key": ["id"], "truncate": "stop", **more}
    return Compared(entry=CapturedTableSettings.model_validate(values), schema_file=schema_file, lake=lake)


def compare(source: ConnectionParameters, wanted: Compared, **more: Any) -> TableComparison:
    [found] = compare_tables(Sides(source, [wanted]), AT_ONCE, **more)
    return found


QUERIED = [
    {"source": "public.people"},
    {"source": "public.seen"},
    {"name": "joined", "query": "SELECT p.id, p.name FROM public.people p -- all of them\n;"},
]


@pytest.mark.parametrize("queried", QUERIED)
def test_tables_views_and_queries_are_compared(
    source: ConnectionParameters, tmp_path: Path, queried: dict[str, str]
) -> None:
    assert compare(source, entry(ArrowLake(now=[BOTH]), tmp_path, **queried)).equal
    found = compare(source, entry(ArrowLake(now=[BOTH.slice(1)]), tmp_path, **queried))
    assert (found.missing, found.extra, found.different, found.problem) == (1, 0, 0, None)


def test_rows_of_what_inherits_are_a_queried_tables_own(source: ConnectionParameters, tmp_path: Path) -> None:
    execute(source, "INSERT INTO older VALUES (3, 'c')")
    found = compare(source, entry(ArrowLake(now=[BOTH]), tmp_path, source="public.people"))
    assert (found.source_rows, found.missing) == (3, 1)


@dataclass(frozen=True, kw_only=True)
class Committing(ArrowLake):
    """A lake with a commit for each time that its job has read the table."""

    read_anew: list[None] = field(default_factory=list)

    def last_commit(self) -> str | None:
        return str(len(self.read_anew))


def test_what_differs_is_repaired_by_a_job_that_reads_it_anew(source: ConnectionParameters, tmp_path: Path) -> None:
    lake = Committing(now=[BOTH.slice(1)])

    def read_anew() -> None:
        lake.read_anew.append(None)
        lake.now[:] = [BOTH]

    said: list[str] = []
    wanted = entry(lake, tmp_path, source="public.people")
    found = compare(source, wanted, repairs=repairs_of_queried(read_anew, said.append))
    assert (found.equal, found.repaired, len(lake.read_anew)) == (True, 1, 1)
    assert said == ["public.people: 1 rows differ, so the job reads the table anew"]


def test_a_job_that_commits_nothing_is_a_line(source: ConnectionParameters, tmp_path: Path) -> None:
    wanted = entry(Committing(now=[BOTH.slice(1)]), tmp_path, source="public.people")
    found = compare(source, wanted, repairs=repairs_of_queried(lambda: None, lambda _line: None, timeout_s=0.1))
    assert "has committed nothing within 0 s" in str(found.problem)
