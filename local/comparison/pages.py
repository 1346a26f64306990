"""Divides a table of the source by its pages, partition by partition, for statements that read a part each."""

# ruff: noqa: S608  # names are quoted, and the rest is ours

from collections.abc import Iterator
from dataclasses import dataclass

from psycopg2.extensions import connection as Connection  # noqa: N812 - a class with a lower-case name

from local.comparison.table import ComparedTable, quoted

# The first server version whose TID range scans read just the pages that are asked for.
TID_RANGES = 140000
# Pages of 8 kB that one statement reads: progress shows, and a role's statement_timeout isn't met.
PAGES = 8192


@dataclass(frozen=True, slots=True)
class Part:
    """What holds rows. `by_pages`: it may be read by itself, page by page."""

    oid: int
    relation: str
    pages: int
    by_pages: bool


@dataclass(frozen=True, slots=True)
class Step:
    """A part of the table that one statement reads."""

    source: str
    condition: str = ""


def steps(connection: Connection, table: ComparedTable, pages: int) -> Iterator[Step]:
    """Divide the table by so many pages; one step for all where the server would read all for each."""
    if table.rows_of is not None:
        yield Step(table.source_from)
        return
    found = parts(connection, table)
    if connection.server_version < TID_RANGES or not all(part.by_pages for part in found):
        yield Step(table.source_from)
        return
    for part in found:
        for first in range(0, max(part.pages, 1), pages):
            condition = f"t.ctid >= '({first},0)'::tid AND t.ctid < '({first + pages},0)'::tid"
            yield Step(f"ONLY {part.relation} AS t", f"WHERE {condition}")


def parts(connection: Connection, table: ComparedTable) -> list[Part]:
    """Return what holds the rows: the table, or its partitions."""
    tree = "SELECT relid FROM pg_partition_tree(%s::regclass) WHERE isleaf" if table.partitioned else ""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.oid::bigint, n.nspname, c.relname, coalesce(pg_relation_size(c.oid), 0)"
            " / current_setting('block_size')::bigint,"
            # A role that may read the whole needn't be allowed to read a part by its name.
            " c.relkind = 'r' AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')"
            " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            f" WHERE c.oid IN ({tree or 'SELECT %s::regclass'}) ORDER BY c.oid",
            [table.relation],
        )
        return [
            Part(oid, f"{quoted(schema)}.{quoted(name)}", int(pages), by_pages)
            for oid, schema, name, pages, by_pages in cursor
        ]
