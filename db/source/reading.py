"""Lets a role read exactly what a pipeline queries; or checks, as that role, whether it may.

Nothing is published and no slot is created. PostgreSQL tells what a query reads from a view of it: any view in it, or
the very columns that it names.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import psycopg2
from psycopg2.extensions import encrypt_password

from contract.table_names import listed
from db.connecting import Cursor, LoadError, check_query, explain, value
from db.source import objects as source_objects
from db.source.catalogue import HAS_ROWS, Table
from db.source.inspection import read_tables
from db.source.objects import SourceObjects, SourceState, WantedTable
from db.source.plan import UnpreparableError, columns_missing, no_such_table
from db.source.rights import preparing, reading_steps, system_columns

_VIEW = "cdc_rows"
# A query with a whole row (`t` in place of `t.a`) doesn't depend on the row's columns, so it gets whole tables.
_READ_BY_VIEW = f"""
SELECT n.nspname::text, c.relname::text, CASE WHEN bool_or(r.ev_action::text LIKE '%:varattno 0 %') THEN '{{}}'
    ELSE array_remove(array_agg(a.attname::text), NULL) END, c.relkind = ANY ('{{r,p,f}}')
FROM pg_rewrite r
JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
JOIN pg_class c ON c.oid = d.refobjid AND c.oid <> r.ev_class
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname <> 'pg_catalog'
LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid AND d.refobjsubid > 0
WHERE r.ev_class = 'pg_temp.{_VIEW}'::regclass
GROUP BY n.nspname, c.relname, c.relkind
"""  # noqa: S608 - a name of ours
# A reader by a column must know who is still writing; the narrower of the two rights that the user may grant.
_SEES_WRITERS = """
SELECT g.rolname, coalesce(pg_has_role(r.oid, 'pg_read_all_stats', 'USAGE'), FALSE), u.rolsuper
    OR pg_has_role(g.oid, 'MEMBER WITH ADMIN OPTION')
    OR (u.rolcreaterole AND current_setting('server_version_num')::int < 160000)
FROM pg_roles u CROSS JOIN pg_roles g LEFT JOIN pg_roles r ON r.rolname = %s
WHERE u.rolname = current_user AND g.rolname IN ('pg_read_all_stats', 'pg_monitor')
ORDER BY g.rolname = 'pg_monitor'
"""


@dataclass(frozen=True, kw_only=True)
class ReadObjects(SourceObjects):
    """What `role` needs to read: tables, and queries by their names; `sees_writers`: also who is writing."""

    queries: Mapping[str, str]
    sees_writers: bool = False


def grant_reader(
    parameters: Mapping[str, Any], wanted: ReadObjects, *, password: str, check: Callable[[], None] = lambda: None
) -> None:
    """Create the role or set its password, and grant it the missing read rights, in one transaction.

    Raises UnpreparableError if the database doesn't meet the requirements or the user lacks rights, LoadError
    otherwise; the database is then unchanged. `check`: see `preparing`.
    """
    preparing(parameters, lambda cursor: _let_read(cursor, wanted, password), check)


def _let_read(cursor: Cursor, wanted: ReadObjects, password: str) -> None:
    wanted = replace(wanted, tables=tuple(_with_queries(cursor, wanted)))
    state = source_objects.read(cursor, wanted)
    if lines := (*_role_problems(wanted, state), *_table_problems(wanted, state, sees_all=False)):
        raise UnpreparableError(lines)
    verifier = encrypt_password(password, wanted.role, cursor, "scram-sha-256")
    verb, role = "ALTER" if state.role_exists else "CREATE", state.names[wanted.role]
    cursor.execute(f"{verb} ROLE {role} LOGIN PASSWORD '{verifier}'")
    if not state.role_connects:
        cursor.execute(f"GRANT CONNECT ON DATABASE {state.names[state.database]} TO {role}")
    steps = list(reading_steps(wanted, state))
    if missing := tuple(f"you may not {step.missing}" for step in steps if step.missing):
        raise UnpreparableError(missing)
    for statement in (statement for step in steps for statement in step.statements):
        cursor.execute(statement)
    if wanted.sees_writers:
        _let_see_writers(cursor, wanted.role, role)


def missing_privileges(cursor: Cursor, wanted: ReadObjects) -> list[str]:
    """Report, a line each, what the logged-in user can't read. Changes nothing, and works on a standby."""
    state = source_objects.read(cursor, wanted)
    lines = list(_table_problems(wanted, state, sees_all=sees_all_rows(cursor), reads=True))
    for name, query in wanted.queries.items():
        try:
            check_query(cursor, query)
        except psycopg2.Error as error:
            lines.append(f"{name}: {explain(error)}")
            cursor.connection.rollback()
    return lines


def _role_problems(wanted: ReadObjects, state: SourceState) -> Iterator[str]:
    if state.standby:
        yield "this server is a standby, which nothing can be changed on: leave owner_secret out, and let a DBA do it"
    if state.role_is_administrator or state.role_replicates:
        yield f"the role {wanted.role} is there and may more than read: name another one (role)"


def _table_problems(wanted: ReadObjects, state: SourceState, *, sees_all: bool, reads: bool = False) -> Iterator[str]:
    """Report, a line each, what the role can't get of the tables; if it already `reads`, also its missing rights."""
    for table in wanted.tables:
        found = state.tables.get((table.schema, table.name))
        if found is None:
            yield no_such_table(table)
            continue
        rights = rights_missing(table, found, wanted.role) if reads else ()
        hidden = hidden_rows(found, sees_all=sees_all or (reads and found.owned))
        yield from (f"{table}: {problem}" for problem in (*rights, *hidden))
        yield from columns_missing(table, found)


def rights_missing(table: WantedTable, found: Table, role: str) -> Iterator[str]:
    """Report what the role may not read of a table."""
    hidden = [name for name in found.hidden if name not in table.leave_out]
    if hidden:
        yield f"{role} may not read {listed(hidden, 5)}: GRANT SELECT on it, or leave it out (leave_out)"
    elif missing := ", ".join(name for name in system_columns(table, found) if not found.reads_system):
        yield (
            f"{role} may not read {missing}, by which changes are found: GRANT SELECT ({missing}) on it, or"
            ' detect = "hash"'
        )


def hidden_rows(found: Table, *, sees_all: bool) -> Iterator[str]:
    """Report whether row security would hide rows from a role that doesn't see all."""
    if found.row_security and found.kind in HAS_ROWS and not sees_all:
        yield (
            "row security is on, and rows that a policy hides would count as deleted: the job stops there; ALTER ROLE …"
            " BYPASSRLS, or query a view of its owner"
        )


def sees_all_rows(cursor: Cursor) -> bool:
    """Tell whether the logged-in user sees all rows, despite row security."""
    return bool(value(cursor, "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"))


def _with_queries(cursor: Cursor, wanted: ReadObjects) -> Iterator[WantedTable]:
    """Yield the tables, and those that queries also read: of an ordinary table the columns that they name, if any."""
    tables = {(table.schema, table.name): table for table in wanted.tables}
    for name, query in wanted.queries.items():
        for schema, table, columns, has_rows in _read_by(cursor, name, query):
            others: frozenset[str] = frozenset()
            if has_rows and columns:
                others = frozenset(read_tables(cursor, [(schema, table)])[schema, table].quoted) - frozenset(columns)
            there = tables.get((schema, table))
            if there is not None:
                tables[schema, table] = replace(there, leave_out=there.leave_out & others)
            else:
                tables[schema, table] = WantedTable(schema=schema, name=table, key=(), leave_out=others)
    yield from tables.values()


def _read_by(cursor: Cursor, name: str, query: str) -> list[tuple[str, str, list[str], bool]]:
    try:
        cursor.execute("SAVEPOINT looking")
        check_query(cursor, query)
        cursor.execute(f"CREATE TEMP VIEW {_VIEW} AS SELECT * FROM ({query}\n) AS q")  # noqa: S608  the user's own
        cursor.execute(_READ_BY_VIEW)
        found = cursor.fetchall()
        cursor.execute("ROLLBACK TO SAVEPOINT looking")
    except psycopg2.Error as error:
        raise LoadError(f"{name}: {explain(error)} (a query names each table with its schema)") from error
    return found


def _let_see_writers(cursor: Cursor, name: str, role: str) -> None:
    cursor.execute(_SEES_WRITERS, (name,))
    found = cursor.fetchall()
    if any(sees for _, sees, _ in found):
        return
    grantable = [group for group, _, may in found if may]
    if not grantable:
        raise UnpreparableError(
            ("you may not grant pg_monitor, without which changes would be lost by a column: take column out",)
        )
    cursor.execute(f"GRANT {grantable[0]} TO {role}")
