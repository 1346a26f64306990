"""Tables created by statements: a folder of Parquet files each, below a folder of the platform.

The layout is Athena's: a folder per partition, `country=Wakanda`, whose value its files lack. The columns with their
types and order, elsewhere kept in a catalog, are in `_common_metadata`, which Parquet readers skip.
"""

import contextlib
import json
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow
from pyarrow import dataset, parquet, types

from analytics.tables import COMPRESSION, DeclaredTable
from local.query.engine import QueryError

FOLDER = "silver"
# Glue's types of declared tables.
_ARROW = {"int": pyarrow.int32(), "string": pyarrow.string(), "date": pyarrow.date32()}
_SCHEMA = "_common_metadata"
_PARTITIONS = b"partitioned_by"
# Types that a folder's name preserves.
_IN_A_NAME = (types.is_string, types.is_large_string, types.is_integer, types.is_date, types.is_boolean)


@dataclass(frozen=True)
class Silver:
    """The tables in a folder, which may not exist yet."""

    folder: Path

    def names(self) -> list[str]:
        return sorted(path.parent.name for path in self.folder.glob(f"[!.]*/{_SCHEMA}"))

    def schema(self, name: str) -> pyarrow.Schema:
        """Return a table's columns, partition columns last. Raises QueryError when its file is damaged."""
        with _one_line(self.folder / name, "read"):
            return parquet.read_schema(self.folder / name / _SCHEMA)

    def batches(self, name: str, columns: Sequence[str], batch_rows: int) -> Iterator[pyarrow.RecordBatch]:
        """Yield a table's rows with these columns. Raises QueryError when its files are damaged."""
        with _one_line(self.folder / name, "read"):
            schema = self.schema(name)
            keys = json.loads(schema.metadata[_PARTITIONS])
            found = dataset.dataset(
                self.folder / name,
                schema=schema.remove_metadata(),
                format="parquet",
                partitioning=_partitioning(schema, keys) if keys else None,
            )
            yield from found.to_batches(columns=list(columns), batch_size=batch_rows)


def declared_schema(table: DeclaredTable) -> pyarrow.Schema:
    return pyarrow.schema([(name, _ARROW[type_]) for name, type_ in table.columns])


def glue_types(schema: pyarrow.Schema) -> list[str]:
    """Return the columns' types in a declared table's terms, in their order; Arrow's name for any other."""
    known = {arrow: glue for glue, arrow in _ARROW.items()}
    return [known.get(field.type, str(field.type)) for field in schema]


def append(rows: pyarrow.RecordBatchReader, folder: Path, table: DeclaredTable) -> None:
    """Add rows, in the table's columns, as a new file in a declared table's folder; all of them or none.

    Raises QueryError when it can't be written.
    """
    schema = declared_schema(table)
    with _one_line(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".", dir=folder) as temporary:
            described, added = Path(temporary) / _SCHEMA, Path(temporary) / f"{uuid.uuid4().hex}.parquet"
            parquet.write_metadata(schema.with_metadata({_PARTITIONS: b"[]"}), described)
            with parquet.ParquetWriter(added, schema, compression=COMPRESSION.lower()) as writer:
                for batch in rows:
                    writer.write_batch(batch.rename_columns(schema.names))
            described.rename(folder / _SCHEMA)
            added.rename(folder / added.name)


def write(rows: pyarrow.RecordBatchReader, folder: Path, *, partitioned_by: Sequence[str], compression: str) -> None:
    """Write rows as a table into a missing or empty folder; all of it or nothing.

    Raises QueryError for partitions by values that a folder's name doesn't preserve, and when the folder isn't empty or
    can't be written.
    """
    for key in map(rows.schema.field, partitioned_by):
        if not any(is_one(key.type) for is_one in _IN_A_NAME):
            reason = f"partitioned_by has {key.name}, which is {key.type}"
            raise QueryError(f"{reason}: choose a text, an integer, a date or a boolean")
    schema = rows.schema.with_metadata({_PARTITIONS: json.dumps(list(partitioned_by))})
    with _one_line(folder, "written"):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
            made = Path(temporary) / "table"
            dataset.write_dataset(
                rows,
                made,
                format="parquet",
                file_options=dataset.ParquetFileFormat().make_write_options(compression=compression),
                partitioning=_partitioning(schema, partitioned_by) if partitioned_by else None,
            )
            made.mkdir(exist_ok=True)
            parquet.write_metadata(schema, made / _SCHEMA)
            # Replaces an empty folder, and no other.
            made.rename(folder)


def check_free(folder: Path) -> None:
    """Refuse a folder that isn't empty, as Athena does. Raises QueryError."""
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise QueryError(f"{folder} isn't empty: take another name, or remove it")


def _partitioning(schema: pyarrow.Schema, keys: Sequence[str]) -> dataset.Partitioning:
    return dataset.partitioning(pyarrow.schema([schema.field(key) for key in keys]), flavor="hive")


@contextlib.contextmanager
def _one_line(folder: Path, done: str) -> Iterator[None]:
    try:
        yield
    except (OSError, pyarrow.ArrowException) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise QueryError(f"{folder} can't be {done}: {reason}") from error
