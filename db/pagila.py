"""Sample data in Pagila's shape: addresses with cities and countries, and their customers, staff and stores.

The names are ours, but the ids are those that a walk-through of Pagila changes: the next country and city get the
numbers 110 and 601, and address 104 can't be deleted before its customer, staff and stores have moved.

`load` accepts a dump of Pagila's data instead of the generated rows. As with Northwind's, nothing in it is executed
(docs/decisions/0013): only rows of the tables here are read, and of staff neither passwords nor pictures.
"""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from db import loading
from db.connecting import Cursor, LoadError, transaction, value
from db.dump import Wanted, read_rows
from db.sample import FOLDER, columns_of, copy_lines

# The part of the dump with the rows.
DATA_FILE = "pagila-data.sql"
SCHEMA = "public"

TABLES = (FOLDER / "pagila_tables.sql").read_text(encoding="utf-8")
# Parents before children.
DUMP = Wanted(whose="Pagila", tables=columns_of(TABLES), others=True)
NAMES = tuple(DUMP.tables)


def load(connection_parameters: Mapping[str, Any], dump: Path | None = None) -> str:
    """Create and fill the tables in one transaction unless they exist: from a dump, or generated.

    `dump` is the file with the rows, or its folder. Return how many rows were loaded now, or kept. Raises LoadError.
    """
    if dump is not None and dump.is_dir():
        dump /= DATA_FILE
    wanted = "generated rows" if dump is None else loading.data_set(dump=dump)
    with transaction(connection_parameters) as cursor:
        cursor.execute(f"SET LOCAL search_path = {SCHEMA}")
        if value(cursor, "SELECT to_regclass('public.rental')"):
            there = loading.recorded_data_set(cursor, schema=SCHEMA)
            if dump is not None and there != wanted:
                there = there or "rows that nobody has described"
                raise LoadError(f"the database has {there}, so {wanted} can't be loaded")
            return f"{_count(cursor):,} rows kept"
        rows_of = read_rows(dump or FOLDER / "pagila.sql", DUMP, known_by="address")
        cursor.execute(TABLES)
        loading.record_data_set(cursor, wanted, schema=SCHEMA)
        for table, rows in rows_of.items():
            cursor.copy_expert(f"COPY {table} FROM STDIN", io.StringIO("".join(copy_lines(rows))))
            cursor.execute(
                f"SELECT setval(pg_get_serial_sequence('{table}', '{table}_id'), max({table}_id)) FROM {table}"  # noqa: S608
            )
            cursor.execute(
                f"CREATE TRIGGER last_updated BEFORE UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION last_updated()"
            )
        return f"{_count(cursor):,} rows loaded"


def _count(cursor: Cursor) -> int:
    return sum(int(value(cursor, f"SELECT count(*) FROM {table}")) for table in NAMES)  # noqa: S608
