"""A random load on one table of addresses: short transactions, a few long ones, and all that a poll doesn't expect."""

# ruff: noqa: S608  # put together from the expressions that stand here

import contextlib
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg2

TABLE = "public.address"
COLUMNS = ("address_id", "address", "district", "last_update")
# Pagila's table with its trigger; all rows have the same last_update, as in the dump.
CREATE = """
CREATE TABLE address (
    address_id integer PRIMARY KEY,
    address text NOT NULL,
    district text,
    last_update timestamptz NOT NULL DEFAULT now()
);
CREATE FUNCTION last_updated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.last_update = OLD.last_update THEN NEW.last_update = now(); END IF;
    RETURN NEW;
END $$;
CREATE SEQUENCE version;
INSERT INTO address SELECT i, 'Street ' || i, 'District ' || i % 7, '2022-02-15 10:45:30+00'
    FROM generate_series(1, 603) AS i;
CREATE TRIGGER last_updated BEFORE UPDATE ON address FOR EACH ROW EXECUTE FUNCTION last_updated();
"""
# A row that no other writer is changing: a long transaction must not hold up the others.
_ANY = (
    "(SELECT address_id FROM address WHERE address_id >= %(from)s ORDER BY address_id LIMIT 1 FOR UPDATE SKIP LOCKED)"
)
_UPDATE = f"UPDATE address SET address = 'v' || nextval('version') WHERE address_id = {_ANY}"
_CHANGES = (
    (70, _UPDATE),
    (12, "INSERT INTO address SELECT nextval('version') + 10000, 'v' || currval('version'), 'new'"),
    (
        4,
        "INSERT INTO address SELECT nextval('version') + 10000, 'v' || currval('version'), 'old stamp',"
        " now() - interval '1 day'",
    ),
    (8, f"DELETE FROM address WHERE address_id = {_ANY}"),
    (3, f"UPDATE address SET address_id = nextval('version') + 10000 WHERE address_id = {_ANY}"),
    (
        3,
        "UPDATE address SET address = 'v' || nextval('version'), last_update = last_update - interval '1 hour'"
        f" WHERE address_id = {_ANY}",
    ),
)
_PAUSE_S = 0.05


@dataclass
class Load:
    """`writers` connections that change rows for `seconds`; a share of their transactions is long."""

    parameters: Mapping[str, Any]
    writers: int = 8
    seconds: float = 60
    long_share: float = 0.03
    # Duration of the long ones; they end with the load.
    long_seconds: tuple[float, float] = (1.0, 20.0)
    seed: int = 1
    # Committed row versions: inserted or updated rows.
    versions: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def run(self) -> None:
        """Change rows until the time is up and the last transaction has ended."""
        until = time.monotonic() + self.seconds
        threads = [threading.Thread(target=self._write, args=(number, until)) for number in range(self.writers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _write(self, number: int, until: float) -> None:
        chance = random.Random(f"{self.seed} {number}")  # noqa: S311  (no secret)
        with contextlib.closing(psycopg2.connect(**self.parameters)) as connection:
            while time.monotonic() < until:
                with connection, connection.cursor() as cursor:
                    written = self._transaction(cursor, chance, until)
                with self._lock:
                    self.versions += written
                time.sleep(chance.uniform(0, 2 * _PAUSE_S))

    def _transaction(self, cursor: Any, chance: random.Random, until: float) -> int:
        long = chance.random() < self.long_share
        written = 0
        for step in range(chance.randint(1, 4)):
            if step:
                cursor.execute("SAVEPOINT step")
            weights, statements = zip(*_CHANGES, strict=True)
            [statement] = chance.choices(statements, weights)
            cursor.execute(statement, {"from": chance.randint(1, 700)})
            written += 0 if statement.startswith("DELETE") else cursor.rowcount
            if long and not step:
                time.sleep(min(chance.uniform(*self.long_seconds), max(until - time.monotonic(), 0) + 1))
        return int(written)
