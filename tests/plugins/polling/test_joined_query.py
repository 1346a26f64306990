"""A query that is polled has the newest of all stamps, in its text and in a real PostgreSQL.

No connector runs there, none is on a package registry: the tests have its condition (timestamp and key).
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg2
import pytest
from psycopg2.extensions import connection as Connection

from local.services.postgres import ConnectionParameters
from plugins.polling.jdbc_source import jdbc_source
from plugins.polling.joined_query import polled, problems, stamped
from tests.plugins.polling import article
from tests.plugins.polling.test_jdbc_settings import PLACES as PLACES_QUERY
from tests.plugins.polling.test_jdbc_settings import SETTINGS

JOIN = """
SELECT a.address_id, c.city, n.country, greatest(a.last_update, c.last_update, n.last_update) AS last_update
FROM public.address a JOIN public.city c ON c.city_id = a.city_id JOIN public.country n ON n.country_id = c.country_id
"""


WITHOUT_ONE = JOIN.replace(", n.last_update", "")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (JOIN, None),
        # Stamps may be expressions.
        (JOIN.replace("n.last_update", "coalesce(n.last_update, to_timestamp(0))"), None),
        (article.QUERY, r"joins 3 tables, .* would never arrive; .* greatest\(…\) AS last_update"),
        (WITHOUT_ONE, "newest of 2 stamps"),
        (WITHOUT_ONE.replace("c.last_update", "coalesce(c.a, c.b)"), "newest of 2 stamps"),
        # Another column is the greatest.
        (JOIN.replace("AS last_update", "AS newest"), "one table's stamp"),
        (JOIN.replace("AS last_update", "AS last_updated"), "one table's stamp"),
    ],
)
def test_a_join_has_the_newest_of_all_its_stamps(query: str, reason: str | None) -> None:
    found = list(problems(query, "last_update"))
    assert len(found) == (reason is not None)
    assert not found or re.search(reason or "", found[0])


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, (SELECT name FROM city WHERE city.id = a.city) AS city, ts FROM address a",
        'SELECT id, ts FROM "from" WHERE city = ANY (ARRAY(SELECT id FROM "join"))',
        "SELECT a.id, ts FROM address a, LATERAL (SELECT name FROM city c WHERE c.id = a.city) x",
        "SELECT a.id, ts FROM (address a JOIN city c USING (id))",
        "WITH x AS (SELECT id FROM city) SELECT a.id, ts FROM address a JOIN x ON x.id = a.city",
        "WITH x AS (SELECT 1 AS id) SELECT a.id, ts FROM address a JOIN public.x ON x.id = a.city",
        "WITH city AS (SELECT id FROM city) SELECT a.id, ts FROM address a JOIN city ON city.id = a.city",
        "SELECT id, ts FROM address EXCEPT SELECT id, ts FROM city",
        # A comma joins, too.
        "SELECT f(a.id, 1), ts FROM a, (SELECT max(x, y) FROM c) b",
        "SELECT f(a.id, 1), ts FROM (a), b GROUP BY 1, 2",
    ],
)
def test_another_table_has_a_stamp_that_polls_would_miss(query: str) -> None:
    [reason] = problems(query, "ts")
    assert "it joins 2 tables, and ts is one table's stamp" in reason


def test_a_stamp_may_be_asked_for_by_a_subquery() -> None:
    stamps = "greatest(a.ts, (SELECT max(ts) FROM city))"
    query = f"SELECT id, (SELECT max(name) FROM city), {stamps} AS ts FROM address a"
    assert not list(problems(query, "ts"))
    assert len(list(problems(query.replace("a.ts, ", ""), "ts"))) == 1


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, ts FROM address UNION ALL SELECT id, ts FROM city",
        "SELECT id, ts FROM (SELECT id, ts FROM address UNION ALL (SELECT id, ts FROM city)) u",
        "WITH x AS (SELECT id, ts FROM address) SELECT * FROM x",
        "WITH RECURSIVE x AS (SELECT id, ts FROM address UNION ALL SELECT id + 1, ts FROM x) SELECT * FROM x",
        "SELECT id, ts FROM (VALUES (1), (2)) AS v (id), address",
        "SELECT id, ts FROM address, generate_series(1, 3) AS n, unnest(ids) AS u (i)",
        "SELECT id, ts, 'a; join ?' AS note /* join */ FROM t -- ${x:y}\n;",
    ],
)
def test_what_needs_no_other_stamp_is_polled(query: str) -> None:
    assert not list(problems(query, "ts"))


def test_what_cannot_be_read_is_refused_in_one_line() -> None:
    for query in ("SELECT id, ts FROM", "SELECT id, 'ts FROM t", "it joins a, b"):
        [reason] = problems(query, "ts")
        assert reason.startswith("it can't be read")
        assert "\n" not in reason


@pytest.mark.parametrize("sign", ["?", ";", "${"])
def test_signs_that_somebody_else_takes_are_refused(sign: str) -> None:
    [reason] = problems(f"SELECT id, ts FROM t WHERE a {sign} b", "ts")
    assert repr(sign) in reason


def test_a_condition_can_be_appended_whatever_the_query_ends_with() -> None:
    assert polled("SELECT 1 -- the end") == "SELECT * FROM (\nSELECT 1 -- the end\n) AS polled"
    assert polled(" SELECT 1 ; \n") == "SELECT * FROM (\nSELECT 1\n) AS polled"


PLACES = """
SELECT a.address_id, a.city IS DISTINCT FROM c.city AS moved, extract(year FROM a.last_update) AS year -- FROM
FROM public.address a JOIN public.city c ON c.city_id = a.city_id
"""


def test_a_join_is_given_the_newest_of_its_stamps() -> None:
    query = stamped(PLACES, ["a.last_update", "c.last_update"], "last_update")
    # The comma is outside the comment.
    assert "AS year,\n  greatest(a.last_update, c.last_update) AS last_update\n-- FROM\nFROM public.address" in query
    assert not list(problems(query, "last_update"))


@pytest.mark.parametrize("query", ["VALUES (1)", "SELECT a FROM b UNION SELECT a FROM c"])
def test_a_query_whose_columns_are_not_told_is_left_to_its_writer(query: str) -> None:
    with pytest.raises(ValueError, match=r"greatest\(…\) into its columns"):
        stamped(query, ["b.x"], "x")


Row = tuple[Any, ...]
TABLES = """
CREATE TABLE country (country_id int PRIMARY KEY, country text, last_update timestamptz DEFAULT '2022-02-15');
CREATE TABLE city (city_id int PRIMARY KEY, city text, country_id int, last_update timestamptz DEFAULT '2022-02-15');
CREATE TABLE address (address_id int PRIMARY KEY, address text, address2 text, district text, postal_code text,
  phone text, city_id int, last_update timestamptz DEFAULT '2022-02-15');
INSERT INTO country VALUES (1, 'Italy');
INSERT INTO city SELECT n, 'city ' || n, 1 FROM generate_series(1, 2) n;
INSERT INTO address (address_id, city_id) SELECT n, 1 + n % 2 FROM generate_series(1, 10) n;
"""
ADDRESSES = """
SELECT a.address_id, a.address, c.city, n.country
FROM address a JOIN city c ON c.city_id = a.city_id JOIN country n ON n.country_id = c.country_id
"""


@pytest.fixture
def source(database: ConnectionParameters) -> Iterator[Connection]:
    connected = psycopg2.connect(**database)
    connected.autocommit = True
    with connected.cursor() as cursor:
        cursor.execute(TABLES)
    yield connected
    connected.close()


def poll(source: Connection, query: str, stamp: Any, key: int) -> list[Row]:
    """Return (key, stamp) of what one poll reads after a stamp and a key, as timestamp+incrementing does."""
    condition = """ WHERE "last_update" < clock_timestamp() AND (("last_update" = %s AND "address_id" > %s)
        OR "last_update" > %s) ORDER BY "last_update", "address_id" ASC"""
    with source.cursor() as cursor:
        cursor.execute(f"SELECT address_id, last_update FROM ({query + condition}) AS page", (stamp, key, stamp))
        return cursor.fetchall()


@pytest.mark.integration
def test_a_renamed_city_arrives_by_the_newest_stamp(source: Connection) -> None:
    query = polled(stamped(ADDRESSES, ["a.last_update", "c.last_update", "n.last_update"], "last_update"))
    key, stamp = poll(source, query, "-infinity", 0)[-1]
    with source.cursor() as cursor:
        cursor.execute("UPDATE city SET city = 'Roma', last_update = now() WHERE city_id = 2")
    assert [row[0] for row in poll(source, query, stamp, key)] == [1, 3, 5, 7, 9]


@pytest.mark.integration
def test_the_configured_query_is_sql(source: Connection) -> None:
    assert len(poll(source, jdbc_source(replace(SETTINGS, polled=PLACES_QUERY))["query"], "-infinity", 0)) == 10
