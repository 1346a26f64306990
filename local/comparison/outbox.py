"""Proves that the outbox matches the source's tables: each row is recomputed and compared, in one snapshot.

A comparison of the outbox with the lake can't find a stale outbox row. This does.
"""

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from psycopg2 import sql

from contract.source import OUTBOX_TABLE, SCHEMA
from db.connecting import connect
from local.comparison.compare import SHOWN_ROWS, WAIT_BETWEEN_LOOKS_S, Difference, TableComparison
from local.errors import PlatformError

KEY = "order_id"
OUTBOX = (SCHEMA, OUTBOX_TABLE)
# What the outbox should contain (db/sql/03_outbox.sql): all of the outbox's columns except the write time.
RECOMPUTED = (SCHEMA, "current_order_events")


def compare_outbox(
    parameters: Any, *, timeout_s: float, on_look: Callable[[TableComparison], None] = lambda _found: None
) -> TableComparison:
    """Compare the tables with the outbox; repeat for the differences until none are left or `timeout_s` has passed.

    In the result, `source` are the tables' orders and `lake` the outbox's rows. An edit embedded in many orders reaches
    the outbox some time after its commit, so only a difference that stays counts. Raises psycopg2.Error, LoadError, and
    PlatformError when there is no outbox.
    """
    started = time.monotonic()
    first, keys = _look(parameters, None)
    found = first
    on_look(found)
    while not found.equal and time.monotonic() < started + timeout_s:
        time.sleep(WAIT_BETWEEN_LOOKS_S)
        found, keys = _look(parameters, keys)
        found = replace(found, position=first.position, source_rows=first.source_rows, lake_rows=first.lake_rows)
        on_look(found)
    return replace(found, seconds=time.monotonic() - started)


def _look(parameters: Any, keys: Sequence[str] | None) -> tuple[TableComparison, list[str]]:
    """Compare all orders, or those of `keys`; the counts are of all. Also return the differing keys."""
    with contextlib.closing(connect(parameters)) as connection:
        connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
        with connection, connection.cursor() as cursor:
            columns = _columns(cursor)
            counts = "SELECT pg_current_wal_insert_lsn()::text, (SELECT count(*) FROM {}), (SELECT count(*) FROM {})"
            cursor.execute(sql.SQL(counts).format(sql.Identifier(SCHEMA, "orders"), sql.Identifier(*OUTBOX)))
            position, orders, rows = cursor.fetchone() or ("", 0, 0)
            cursor.execute(_differences(columns), {"keys": None if keys is None else [int(key) for key in keys]})
            found = cursor.fetchall()
    kinds = {"missing": [one for one in found if not one[1]], "extra": [one for one in found if not one[2]]}
    kinds["different"] = [one for one in found if one[1] and one[2]]
    shown = tuple(
        Difference(key={KEY: key}, kind=kind, columns=tuple(names) if kind == "different" else ())
        for kind, some in kinds.items()
        for key, _, _, names in some[:SHOWN_ROWS]
    )
    comparison = TableComparison(
        table="tables and outbox",
        position=position,
        columns=len(columns) + 1,
        source_rows=orders,
        lake_rows=rows,
        shown=shown,
        missing=len(kinds["missing"]),
        extra=len(kinds["extra"]),
        different=len(kinds["different"]),
    )
    return comparison, [key for key, _, _, _ in found]


def _columns(cursor: Any) -> list[str]:
    """Name the columns to compare, without the key. Raises PlatformError when there is no outbox."""
    cursor.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = %s AND table_name = %s"
        " AND column_name <> %s ORDER BY ordinal_position",
        (*RECOMPUTED, KEY),
    )
    if names := [name for (name,) in cursor.fetchall()]:
        return names
    raise PlatformError(f"the source has no view {'.'.join(RECOMPUTED)}: load it first")


def _differences(columns: list[str]) -> sql.Composable:
    """Write the query for differences: key, whether the outbox and the tables have it, the differing columns."""
    changed = sql.SQL(", ").join(
        sql.SQL("CASE WHEN v.{0} IS DISTINCT FROM e.{0} THEN {1} END").format(sql.Identifier(name), sql.Literal(name))
        for name in columns
    )
    chosen = sql.SQL("SELECT * FROM {} WHERE %(keys)s::int[] IS NULL OR {} = ANY (%(keys)s::int[])")
    return sql.SQL(
        "SELECT key, there, wanted, names FROM ("
        " SELECT coalesce(v.{key}, e.{key}) AS id, coalesce(v.{key}, e.{key})::text AS key,"
        " e.{key} IS NOT NULL AS there, v.{key} IS NOT NULL AS wanted, array_remove(ARRAY[{changed}], NULL) AS names"
        " FROM ({recomputed}) AS v FULL JOIN ({outbox}) AS e ON e.{key} = v.{key}"
        ") AS d WHERE cardinality(names) > 0 OR NOT there OR NOT wanted ORDER BY id"
    ).format(
        key=sql.Identifier(KEY),
        changed=changed,
        recomputed=chosen.format(sql.Identifier(*RECOMPUTED), sql.Identifier(KEY)),
        outbox=chosen.format(sql.Identifier(*OUTBOX), sql.Identifier(KEY)),
    )
