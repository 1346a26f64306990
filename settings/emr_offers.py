"""EMR's releases with their versions, and its instance types per region, as plain data.

cfn-lint knows neither, and a wrong one fails only after minutes of deploying. To support another release or type, look
it up (`aws emr list-supported-instance-types --release-label emr-7.10.0 --region ap-southeast-2`) and add it here.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Release:
    """The versions in a release that the job depends on."""

    spark: str
    hudi: str
    python: str


# EMR release guide, "Application versions in Amazon EMR 7.x releases" and "Hudi release history". Only releases
# whose tables Athena reads: Hudi up to 0.15. Those with 1.0 (from emr-7.11.0 on) must be tried on a cluster first.
RELEASES = {
    "emr-7.8.0": Release(spark="3.5.4", hudi="0.15.0", python="3.11"),
    "emr-7.9.0": Release(spark="3.5.5", hudi="0.15.0", python="3.11"),
    "emr-7.10.0": Release(spark="3.5.5", hudi="0.15.0", python="3.11"),
}

APPLICATIONS = frozenset({"Hadoop", "Hive", "Hue", "Livy", "Presto", "Spark", "Trino"})

# Default MB for YARN's containers (EMR release guide, "Task configuration", yarn.nodemanager.resource.memory-mb).
YARN_MEMORY_MB = {
    "m5.xlarge": 12_288,
    "m5.2xlarge": 24_576,
    "m5.4xlarge": 57_344,
    "m6g.xlarge": 12_288,
    "m6g.2xlarge": 24_576,
    "m6g.4xlarge": 57_344,
    "r5.xlarge": 24_576,
    "r5.2xlarge": 57_344,
    "r5.4xlarge": 122_880,
}

# EMR management guide, "Supported instance types", those that EC2 offers in the region. In these families EMR
# starts at xlarge: there is no m5.large.
INSTANCE_TYPES = {
    "ap-southeast-2": frozenset(
        f"{family}.{size}" for family in ("m5", "m6g", "r5") for size in ("xlarge", "2xlarge", "4xlarge")
    ),
}
