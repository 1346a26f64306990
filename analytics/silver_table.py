"""Tables that a named statement adds rows to: declared with their columns, so no crawler is needed.

INSERT INTO writes to its table's location, whatever the workgroup says about results; a workgroup that enforces a
result location, as ours does, refuses CREATE TABLE AS with its own (Athena user guide, "Considerations and limitations
for CTAS queries"). There are no partitions: each statement's rows are separate files of one day, whose range Parquet
records, so the catalogue needs no update.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

# In the lake, next to the job's tables.
FOLDER = "_silver"
INPUT_FORMAT = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"
OUTPUT_FORMAT = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat"
SERDE = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
COMPRESSION = "SNAPPY"
PARAMETERS: Mapping[str, str] = {
    "classification": "parquet",
    "EXTERNAL": "TRUE",
    # Compression of the files that Athena writes.
    "parquet.compression": COMPRESSION,
}


@dataclass(frozen=True, kw_only=True)
class SilverTable:
    """A declared table: its name, description, and columns with Glue's types, in their order."""

    name: str
    description: str
    columns: tuple[tuple[str, str], ...]

    def called(self, name: str) -> "SilverTable":
        """Return the same table under another name."""
        return replace(self, name=name)

    def location(self, lake: str) -> str:
        """Return its folder in a lake, such as `s3://bucket`, without a trailing slash."""
        return f"{lake}/{FOLDER}/{self.name}"


CUSTOMER_ADDRESSES = SilverTable(
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
)
