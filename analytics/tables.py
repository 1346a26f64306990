"""Declared tables: files that no job or crawler registers, with their columns and how they are read.

Their folders become partitions through Athena's partition projection, so what is new shows up at once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from contract.lake import QUARANTINE_FOLDER

Columns = tuple[tuple[str, str], ...]
_SILVER_FOLDER = "_silver"
_HADOOP, _HIVE = "org.apache.hadoop.mapred", "org.apache.hadoop.hive.ql.io"
# Of the files that Athena writes.
COMPRESSION = "SNAPPY"


@dataclass(frozen=True, kw_only=True)
class DeclaredTable:
    """A table in a bucket's folder: columns and partitions (the folders below) with Glue's types, in their order."""

    name: str
    description: str
    columns: Columns
    partitions: Columns = ()
    folder: str
    properties: Mapping[str, str] = field(default_factory=dict)
    input_format: str = f"{_HADOOP}.TextInputFormat"
    output_format: str = f"{_HIVE}.HiveIgnoreKeyTextOutputFormat"
    serde: str

    def location(self, bucket: str) -> str:
        """Return the folder's address in a bucket, such as `s3://bucket`."""
        return f"{bucket}/{self.folder}"

    def parameters(self, bucket: str, *values: Iterable[str]) -> dict[str, str]:
        """Return the Glue table's parameters, with the values of each partition."""
        found = {"EXTERNAL": "TRUE", **self.properties}
        if not self.partitions:
            return found
        names = [name for name, _ in self.partitions]
        found["projection.enabled"] = "true"
        for name, of in zip(names, values, strict=True):
            found[f"projection.{name}.type"] = "enum"
            found[f"projection.{name}.values"] = ",".join(sorted(set(of)))
        folders = [self.location(bucket).rstrip("/"), *(f"${{{name}}}" for name in names)]
        return found | {"storage.location.template": "/".join(folders)}

    def called(self, name: str) -> "DeclaredTable":
        """Return the same table of a named statement under another name."""
        return replace(self, name=name, folder=f"{_SILVER_FOLDER}/{name}")


# An entry is a JSON object on its own line (docs/decisions/0023): the reason, the origin (the landing's object, or the
# topic and partition) with the line or offset in it, the time, and the text as is. A file that couldn't be read at all
# is copied whole, with an entry `<copy>.reason.json` next to it that has `file` in place of `text`; Athena's queries of
# that table's partition then fail at the copy until it is moved away.
QUARANTINE = DeclaredTable(
    name="cdc_quarantine",
    description="Events that didn't fit their table, each with its reason",
    # `line` counts from 1 within a file, `offset` is the topic's: an entry has one of them.
    columns=(
        ("reason", "string"),
        ("origin", "string"),
        ("line", "bigint"),
        ("offset", "bigint"),
        ("quarantined_at", "string"),
        ("text", "string"),
        ("file", "string"),
    ),
    # The captured table's name in the lake.
    partitions=(("lake_table", "string"),),
    folder=QUARANTINE_FOLDER,
    properties={"classification": "json"},
    serde="org.openx.data.jsonserde.JsonSerDe",
)
# The landing's events, before any job has read them. A line is one column, so one table serves all topics, whatever
# columns they have; queries extract values with json_extract_scalar. The folders are the landing's own layout,
# `<prefix>/<topic>/<partition>/<offsets>.json` (docs/decisions/0040).
LANDED = DeclaredTable(
    name="cdc_landed",
    description="Events as they have landed, a line each, as long as the landing keeps them",
    columns=(("event", "string"),),
    partitions=(("landing_prefix", "string"), ("topic", "string")),
    folder="",
    properties={"classification": "text"},
    # Its field separator is escaped in JSON, so a line is one field.
    serde="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
)
# Athena's hidden column with an object's address.
PATH = "$path"
# A named statement adds rows. INSERT INTO writes to its table's location, whatever the workgroup says about results; a
# workgroup that enforces a result location, as ours does, refuses CREATE TABLE AS with its own (Athena user guide,
# "Considerations and limitations for CTAS queries"). There are no partitions: each statement's rows are separate files
# of one day, whose range Parquet records, so the catalogue needs no update.
CUSTOMER_ADDRESSES = DeclaredTable(
    name="customer_address_snapshots",
    description="Customers with address, city and country, as they were on the days of snapshots",
    columns=(
        ("customer_id", "int"),
        ("first_name", "string"),
        ("last_name", "string"),
        ("email", "string"),
        ("address_id", "int"),
        ("address", "string"),
        ("address2", "string"),
        ("city", "string"),
        ("state_province", "string"),
        ("postal_code", "string"),
        ("country", "string"),
        ("snapshot_date", "date"),
    ),
    folder=f"{_SILVER_FOLDER}/customer_address_snapshots",
    properties={"classification": "parquet", "parquet.compression": COMPRESSION},
    input_format=f"{_HIVE}.parquet.MapredParquetInputFormat",
    output_format=f"{_HIVE}.parquet.MapredParquetOutputFormat",
    serde=f"{_HIVE}.parquet.serde.ParquetHiveSerDe",
)
