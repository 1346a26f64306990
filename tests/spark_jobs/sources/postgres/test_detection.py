"""Looks by a column between sweeps, where that is safe and fast, and by digests where rows have no transaction."""

import re
from decimal import Decimal
from typing import Any

import pytest

from spark_jobs.errors import JobError
from spark_jobs.options import keys
from spark_jobs.sources.postgres.batch import JdbcBatch
from tests.cases import long
from tests.spark_jobs.sources.postgres.conftest import AS_READER, READER, Queried

pytestmark = pytest.mark.integration

COLUMN = {keys.JDBC_COLUMN: "last_update", keys.JDBC_SWEEP: "3600"}
INDEX = "CREATE INDEX ON address (last_update)"


def test_what_the_column_shows_arrives_before_the_next_sweep(queried: Queried) -> None:
    queried.execute(INDEX)
    queried.extra = COLUMN
    job = queried.job()
    queried.run(job)
    with queried.transaction() as early:
        early.execute("INSERT INTO address (address_id, address) VALUES (701, 'early')")
        queried.execute("UPDATE address SET address = 'later', last_update = now() WHERE address_id = 8")
        [report] = queried.run(job)
        assert (report.upserts, queried.lake()[8]["address"]) == (1, "later")
        queried.execute("DELETE FROM address WHERE address_id = 9")
        assert queried.run(job) == []
        early.connection.commit()
    # A backend sets now() before others see the start of its transaction.
    looking: Any = job._source
    stamp = f"to_timestamp({looking._ahead[1].mark.low / 1e6 - 0.5})"
    queried.execute(
        "INSERT INTO address (address_id, address) VALUES (700, 'for a moment')",
        f"INSERT INTO address (address_id, address, last_update) VALUES (702, 'unseen', {stamp})",
    )
    assert [report.upserts for report in queried.run(job)] == [3]
    assert {700, 701, 702} <= queried.lake().keys()
    queried.execute("DELETE FROM address WHERE address_id = 700")
    # The next sweep sees the delete, and that of the row which only a look by the column saw.
    looking._next_sweep = 0.0
    assert [report.deletes for report in queried.equal_after(job=job)] == [2]
    job.close()


@pytest.mark.parametrize(
    ("statements", "user", "reason"),
    [
        ([], {}, "no index begins with last_update"),
        ([INDEX, READER, "GRANT SELECT ON address TO reader"], AS_READER, "GRANT pg_monitor to it"),
        ([INDEX, "ALTER TABLE address ALTER last_update TYPE date"], {}, "last_update is a date, not a timestamp"),
    ],
)
def test_a_column_that_could_lose_rows_is_left_aside_or_refused(
    queried: Queried, statements: list[str], user: dict[str, str], reason: str
) -> None:
    queried.execute(*statements)
    queried.fields = {name: kind for name, kind in queried.fields.items() if name != "last_update"}
    queried.extra = COLUMN | user | {keys.JDBC_LEFT_OUT: ""}
    job = queried.job()
    assert job._source.next_batch(None) is not None
    job.close()
    assert any("isn't looked at by last_update between sweeps" in line and reason in line for line in queried.log)
    queried.extra = queried.extra | {keys.JDBC_DETECTION: "column"}
    with pytest.raises(JobError, match=re.escape("detection=column isn't possible for public.address")):
        queried.run()


JOIN = (
    "CREATE TABLE city (city_id int PRIMARY KEY, city text)",
    "INSERT INTO city SELECT i, 'City ' || i FROM generate_series(0, 6) AS i",
    "ALTER TABLE address ADD COLUMN city_id int",
    "UPDATE address SET city_id = address_id % 7",
    "CREATE VIEW located AS SELECT a.address_id, a.address, c.city FROM address a JOIN city c USING (city_id)",
)


@pytest.fixture
def located(queried: Queried) -> Queried:
    """A view that joins addresses and their cities."""
    queried.execute(*JOIN)
    queried.table_name = "public.located"
    queried.fields = {"address_id": "int", "address": "string", "city": "string"}
    return queried


def test_a_renamed_city_reaches_the_join(located: Queried) -> None:
    located.equal_after()
    job = located.job()
    assert located.run(job) == []
    located.execute("UPDATE city SET city = 'Birnin Zana' WHERE city_id = 3")
    [report] = located.run(job)
    assert (report.upserts, located.lake()[3]["city"]) == (86, "Birnin Zana")
    located.execute(
        "DELETE FROM address WHERE address_id = 104",
        "INSERT INTO address (address_id, address, city_id) VALUES (700, 'new', 1)",
    )
    [report] = located.equal_after(job=job)
    assert (report.upserts, report.deletes) == (1, 1)
    assert located.run(job) == []
    job.close()


def test_rows_that_were_others_only_when_their_part_was_read_are_read_again(located: Queried) -> None:
    located.arguments = ("--source-limit", "200")
    job, checkpoint = located.job(), None
    # The second part has another row 300, the last look at all keys no row 5.
    for statement in (
        "UPDATE address SET address = 'for a moment' WHERE address_id = 300",
        "UPDATE address SET address = 'Street 300' WHERE address_id = 300",
        "CREATE TABLE kept AS TABLE address; DELETE FROM address WHERE address_id = 5",
        "INSERT INTO address SELECT * FROM kept WHERE address_id = 5",
    ):
        part = job._source.next_batch(checkpoint)
        assert part is not None
        checkpoint = part.checkpoint
        located.execute(statement)
    again = job._source.next_batch(checkpoint)
    assert isinstance(again, JdbcBatch)
    assert again.relation.counted(again.look, f"{again.condition} AND address_id IN (5, 300)") == (603, 2)
    assert again.count < 20
    job.close()


def test_a_query_stands_in_a_tables_place_and_its_new_column_arrives_while_the_job_runs(located: Queried) -> None:
    query = "SELECT a.address_id, a.address, c.* FROM public.address a JOIN public.city c USING (city_id);"
    located.extra = {keys.JDBC_TABLE: "", keys.JDBC_QUERY: query}
    located.fields = {**located.fields, "city_id": "int"}
    job = located.job()
    located.run(job)
    lake = located.lake()
    assert (len(lake), lake[3]["city"]) == (603, "City 3")
    located.execute("ALTER TABLE city ADD COLUMN area numeric(10,2)", "UPDATE city SET area = 4.5 WHERE city_id = 3")
    assert [report.upserts for report in located.run(job)] == [86]
    job.close()
    assert {row["area"] for row in located.stored() if row["city"] == "City 3"} == {Decimal("4.50")}


def test_a_key_that_does_not_tell_rows_apart_is_refused(located: Queried) -> None:
    located.execute(
        "INSERT INTO city VALUES (7, 'twice')",
        "CREATE OR REPLACE VIEW located AS "
        "SELECT a.address_id, a.address, c.city FROM address a JOIN city c ON c.city_id >= a.city_id",
    )
    with pytest.raises(JobError, match=r"public.located has \d rows of one key: .*=address_id doesn't tell its rows"):
        located.run()


@pytest.mark.parametrize("limit", [long("200"), "601", "1000"])
def test_rows_of_a_view_that_have_no_key_are_told_and_hold_up_no_other(located: Queried, limit: str) -> None:
    located.execute(
        "CREATE OR REPLACE VIEW located AS SELECT CASE WHEN address_id % 10 > 0 THEN address_id END AS address_id,"
        " a.address, c.city FROM address a JOIN city c USING (city_id)"
    )
    located.arguments = ("--source-limit", limit)
    located.run()
    there = located.source()
    assert None in there
    assert located.lake() == {key: row for key, row in there.items() if key is not None}
    assert "public.located: 60 of its rows don't fit, or have no key, and aren't in the lake" in located.log


def test_a_view_that_grows_while_it_is_read_lacks_no_rows(located: Queried) -> None:
    located.execute(
        "CREATE TABLE start AS SELECT clock_timestamp() AS at",
        "CREATE OR REPLACE VIEW located AS SELECT i AS address_id, 'x' AS address, 'y' AS city FROM generate_series("
        "1, (1000 * extract(epoch FROM clock_timestamp() - (SELECT at FROM start)))::int) AS i",
    )
    job = located.job()
    job.run_batch()
    job.close()
    assert any("rows came while others were read" in line for line in located.log)
    assert not any("aren't in the lake" in line for line in located.log)
