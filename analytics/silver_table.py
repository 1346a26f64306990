"""Tables that a named statement adds rows to: declared, with their columns, so that nothing has to crawl files.

An INSERT INTO goes where its table is, whatever the workgroup says of results; CREATE TABLE AS with a place of its own
is refused by a workgroup that says where results go, as ours does (Athena user guide, "Considerations and limitations
for CTAS queries"). There are no partitions: each statement's rows are files of their own, of one day, whose range
Parquet says, so no catalogue is changed and none has to be asked which days there are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

# Below the lake, next to the tables that the job keeps.
FOLDER = "_silver"
INPUT_FORMAT = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"
OUTPUT_FORMAT = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat"
SERDE = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
COMPRESSION = "SNAPPY"
PARAMETERS: Mapping[str, str] = {
    "classification": "parquet",
    "EXTERNAL": "TRUE",
    # What Athena writes with.
    "parquet.compression": COMPRESSION,
}


@dataclass(frozen=True, kw_only=True)
class SilverTable:
    """A table that is declared: its name, what it has, and its columns with Glue's types, in their order."""

    name: str
    description: str
    columns: tuple[tuple[str, str], ...]

    def called(self, name: str) -> "SilverTable":
        """Return the same table by another name."""
        return replace(self, name=name)

    def location(self, lake: str) -> str:
        """Return its folder in a lake, such as `s3://bucket`, without a slash at the end."""
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
