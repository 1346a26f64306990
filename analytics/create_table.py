"""Parses Athena's CREATE TABLE AS: the query, and how its rows are stored as files.

sqlglot drops the table's properties when it writes DuckDB's SQL, so they are read here; local/query/command.py runs the
statement and writes the files. Unknown properties are refused: ignoring one would create a different table.
Source: Athena user guide, "CREATE TABLE AS" and "Considerations and limitations for CTAS queries".
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from sqlglot import exp

from analytics.alike.parts import TranslationError
from analytics.tables import DeclaredTable
from analytics.translate import Statement, TableName, first_word, names_its_columns, parsed, statement_of, table_name

# Athena's maximum per statement; above it, it fails with HIVE_TOO_MANY_OPEN_PARTITIONS.
MOST_PARTITIONS = 100
# Athena's name → the codec's name in Parquet's libraries. The first is Athena's default.
COMPRESSIONS: Mapping[str, str] = {"GZIP": "gzip", "SNAPPY": "snappy", "ZSTD": "zstd", "LZ4": "lz4", "NONE": "none"}
# It becomes a folder name; Athena's own rule for names without quotes.
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,127}")
_FORMAT = "PARQUET"


@dataclass(frozen=True, kw_only=True)
class CreatedTable:
    """The table that a statement creates: name, query, compression and partition columns."""

    name: TableName
    rows: Statement
    compression: str
    partitioned_by: tuple[str, ...]


def created_table(text: str) -> CreatedTable | None:
    """Parse a CREATE TABLE AS; None for any other statement, which isn't checked here.

    Raises TranslationError for what Athena refuses, for properties without a meaning here, and for unreadable SQL.
    """
    if first_word(text) != "CREATE":
        return None
    statement = parsed(text)
    if not isinstance(statement, exp.Create) or statement.args.get("kind") != "TABLE" or not statement.expression:
        return None
    _refuse(statement)
    given = _properties(statement)
    _check_place(given)
    rows = cast(exp.Expression, statement.expression)
    if not names_its_columns(rows):
        raise TranslationError("each column of a table needs a name: give the one without it one by AS")
    name = table_name(statement.this)
    if not _NAME.fullmatch(name.table):
        raise TranslationError(f"{name.table!r} can't be a table's name: letters, digits and underscores")
    return CreatedTable(
        name=name,
        rows=statement_of(rows),
        compression=_compression(given),
        partitioned_by=_partitions(given),
    )


def check_columns(created: CreatedTable, columns: list[str]) -> None:
    """Refuse duplicate names, and partitions that aren't the last columns in order. Raises TranslationError."""
    names = [name.lower() for name in columns]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise TranslationError(f"{created.name}: {', '.join(twice)} is there more than once, give one another name")
    keys = list(created.partitioned_by)
    if missing := [key for key in keys if key not in names]:
        raise TranslationError(f"partitioned_by names {', '.join(missing)}, which the statement doesn't select")
    if keys and names[-len(keys) :] != keys:
        last = ", ".join(names[-len(keys) :])
        raise TranslationError(
            f"partitioned_by is {', '.join(keys)}, but the last selected is {last}: Athena wants the partitions' "
            "columns last, in that order"
        )
    if len(keys) == len(names):
        raise TranslationError("a table needs a column that it isn't partitioned by")


def check_partitions(created: CreatedTable, found: int) -> None:
    """Refuse more partitions than Athena writes in one statement. Raises TranslationError."""
    if found > MOST_PARTITIONS:
        raise TranslationError(
            f"{created.name} would have {found} partitions by {', '.join(created.partitioned_by)}, and Athena writes "
            f"{MOST_PARTITIONS} in a statement: take fewer by WHERE, a column with fewer values, or no partitions"
        )


def _refuse(statement: exp.Create) -> None:
    said = {
        "replace": "OR REPLACE isn't Athena's",
        "exists": "IF NOT EXISTS isn't Athena's with AS",
        "with_": "WITH goes behind AS",
    }
    for key, why in said.items():
        if statement.args.get(key):
            raise TranslationError(f"{why}: CREATE TABLE name WITH (…) AS SELECT …")
    if not isinstance(statement.this, exp.Table):
        raise TranslationError("columns are named by the statement, not behind the table's name: SELECT a AS b")
    if not isinstance(statement.expression, exp.Query):
        raise TranslationError("CREATE TABLE … AS wants a SELECT")


# Properties for which sqlglot has classes, and all that mean something here.
_NAMES: Mapping[type[exp.Expression], str] = {
    exp.FileFormatProperty: "format",
    exp.PartitionedByProperty: "partitioned_by",
}
_KNOWN = ("external_location", "format", "parquet_compression", "partitioned_by", "write_compression")


def _properties(statement: exp.Create) -> dict[str, exp.Expression]:
    """Return the properties in WITH by name."""
    found: dict[str, exp.Expression] = {}
    declared = statement.args.get("properties")
    for one in declared.expressions if declared else ():
        if isinstance(one, exp.WithDataProperty):
            if one.args.get("no"):
                raise TranslationError("WITH NO DATA leaves nothing to write: leave it out")
            continue
        name = _NAMES.get(type(one)) or (one.name.lower() if isinstance(one, exp.Property) else None)
        if name not in _KNOWN:
            raise TranslationError(
                f"{name or one.sql('athena')} means nothing here: leave it out, or use {', '.join(_KNOWN)}"
            )
        if name in found:
            raise TranslationError(f"{name} is given twice")
        found[name] = one.this if type(one) in _NAMES else one.args["value"]
    return found


def _check_place(given: Mapping[str, exp.Expression]) -> None:
    """Check the format, and the location on AWS; here the caller chooses the folder."""
    for name, value in given.items():
        if name == "format" and _text(name, value).upper() != _FORMAT:
            raise TranslationError(f"{name} = {value.sql('athena')}: only '{_FORMAT}' is written here")
        if name == "external_location" and not _text(name, value).startswith("s3://"):
            raise TranslationError(f"{name} = {value.sql('athena')} is no folder of S3, s3://bucket/folder/")


def _compression(given: Mapping[str, exp.Expression]) -> str:
    named = {name: value for name, value in given.items() if name.endswith("_compression")}
    if len(named) > 1:
        raise TranslationError("parquet_compression and write_compression say the same: give one")
    for name, value in named.items():
        if (codec := _text(name, value).upper()) in COMPRESSIONS:
            return COMPRESSIONS[codec]
        raise TranslationError(f"{name} = {value.sql('athena')} isn't one of {', '.join(COMPRESSIONS)}")
    return COMPRESSIONS["GZIP"]


def _partitions(given: Mapping[str, exp.Expression]) -> tuple[str, ...]:
    name = "partitioned_by"
    if (value := given.get(name)) is None:
        return ()
    if not isinstance(value, exp.Array) or not value.expressions:
        raise TranslationError(f"{name} is an array of columns, such as ARRAY['country']")
    found = tuple(_text(name, each).lower() for each in value.expressions)
    if len(set(found)) < len(found):
        raise TranslationError(f"{name} has a column twice")
    return found


def _text(name: str, value: exp.Expression) -> str:
    if not (isinstance(value, exp.Literal) and value.is_string):
        raise TranslationError(f"{name} is a text in single quotes, not {value.sql('athena')}")
    return str(value.this)


@dataclass(frozen=True, kw_only=True)
class InsertedRows:
    """The target table, and the query of the rows."""

    name: TableName
    rows: Statement


def inserted_rows(text: str) -> InsertedRows | None:
    """Parse an INSERT INTO; None for any other statement, which isn't checked here.

    Raises TranslationError for what has no meaning here, and for unreadable SQL.
    """
    if first_word(text) != "INSERT":
        return None
    statement = parsed(text)
    if not isinstance(statement, exp.Insert) or statement.args.get("overwrite"):
        raise TranslationError("INSERT INTO table SELECT … adds rows: Athena has no other INSERT")
    if not isinstance(statement.this, exp.Table):
        raise TranslationError("INSERT INTO a table takes all its columns, in their order, and no list of them")
    if not isinstance(statement.expression, exp.Query):
        raise TranslationError("INSERT INTO a table takes a SELECT")
    name = table_name(statement.this)
    return InsertedRows(name=name, rows=statement_of(cast(exp.Expression, statement.expression)))


def check_types(table: DeclaredTable, found: Sequence[str]) -> None:
    """Refuse rows whose Glue types, in their order, aren't the table's. Raises TranslationError."""
    if len(found) != len(table.columns):
        raise TranslationError(f"{table.name} has {len(table.columns)} columns, the statement selects {len(found)}")
    for (column, type_), selected in zip(table.columns, found, strict=True):
        if type_ != selected:
            raise TranslationError(f"{table.name}.{column} is {type_}, the statement selects {selected}: CAST it")
