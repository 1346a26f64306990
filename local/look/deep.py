"""Proves that the outbox says what the source's tables say: each row recomputed and compared, at one snapshot.

`reconcile` compares the outbox with the lake, so a stale outbox row would be equal there. This finds it.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import psycopg2
from psycopg2 import sql

from contract.source import SCHEMA
from local.errors import PlatformError
from local.look.reconcile import KEY, OUTBOX, WAIT_BETWEEN_ROUNDS_S, Comparison

# What the outbox should say (db/sql/03_outbox.sql); it has all of the outbox's columns but the time of writing.
RECOMPUTED = (SCHEMA, "current_order_events")


def compare_outbox(
    parameters: Mapping[str, Any],
    *,
    timeout_s: float,
    on_round: Callable[[Comparison], None] = lambda _comparison: None,
) -> Comparison:
    """Compare the tables with the outbox; look again at what differs until nothing does or `timeout_s` has passed.

    In the result `source` are the tables' orders and `lake` the outbox's rows. An edit that many orders embed reaches
    the outbox some time after its commit, so a difference counts only when it stays. Raises psycopg2.Error, and
    PlatformError when there is no outbox.
    """
    deadline = time.monotonic() + timeout_s
    comparison = _look(parameters, None)
    on_round(comparison)
    while not comparison.equal and time.monotonic() < deadline:
        time.sleep(WAIT_BETWEEN_ROUNDS_S)
        now = _look(parameters, comparison.open_keys)
        comparison = replace(
            now, lsn=comparison.lsn, source_rows=comparison.source_rows, lake_rows=comparison.lake_rows
        )
        on_round(comparison)
    return comparison


def _look(parameters: Mapping[str, Any], keys: Iterable[str] | None) -> Comparison:
    """Compare all orders, or those of `keys`; the counts are of all."""
    with contextlib.closing(psycopg2.connect(**parameters)) as connection:
        connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
        with connection, connection.cursor() as cursor:
            columns = _columns(cursor)
            cursor.execute(
                sql.SQL(
                    f"SELECT pg_current_wal_insert_lsn()::text, (SELECT count(*) FROM {SCHEMA}.orders),"
                    " (SELECT count(*) FROM {})"
                ).format(sql.Identifier(*OUTBOX))
            )
            lsn, orders, rows = cursor.fetchone() or ("", 0, 0)
            wanted = None if keys is None else [int(key) for key in keys]
            cursor.execute(_differences(columns), {"keys": wanted})
            found = cursor.fetchall()
    return Comparison(
        lsn=lsn,
        columns=len(columns) + 1,
        source_rows=orders,
        lake_rows=rows,
        missing=[key for key, there, _, _ in found if not there],
        extra=[key for key, _, wanted_there, _ in found if not wanted_there],
        different={key: names for key, there, wanted_there, names in found if there and wanted_there},
    )


def _columns(cursor: Any) -> list[str]:
    """Name what is compared besides the key. Raises PlatformError when there is no outbox."""
    cursor.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = %s AND table_name = %s"
        " AND column_name <> %s ORDER BY ordinal_position",
        (*RECOMPUTED, KEY),
    )
    if names := [name for (name,) in cursor.fetchall()]:
        return names
    raise PlatformError(f"the source has no view {'.'.join(RECOMPUTED)}: load it first")


def _differences(columns: list[str]) -> sql.Composable:
    """Write the query for what differs: key, whether the outbox and the tables have it, the columns that differ."""
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
