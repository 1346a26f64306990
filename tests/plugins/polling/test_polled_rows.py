"""What polls find in a real PostgreSQL, with the connectors' condition (timestamp and key criteria).

No connector runs here: none is on a package registry.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg2
import pytest
from psycopg2.extensions import connection as Connection

from local.services.postgres import ConnectionParameters
from plugins.polling.jdbc_source import jdbc_source
from plugins.polling.joined_query import polled, stamped
from tests.plugins.polling.test_jdbc_settings import PLACES, SETTINGS

pytestmark = pytest.mark.integration

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
JOIN = """
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


def test_a_renamed_city_arrives_by_the_newest_stamp(source: Connection) -> None:
    query = polled(stamped(JOIN, ["a.last_update", "c.last_update", "n.last_update"], "last_update"))
    key, stamp = poll(source, query, "-infinity", 0)[-1]
    with source.cursor() as cursor:
        cursor.execute("UPDATE city SET city = 'Roma', last_update = now() WHERE city_id = 2")
    assert [row[0] for row in poll(source, query, stamp, key)] == [1, 3, 5, 7, 9]


def test_the_configured_query_is_sql(source: Connection) -> None:
    assert len(poll(source, jdbc_source(replace(SETTINGS, polled=PLACES))["query"], "-infinity", 0)) == 10
