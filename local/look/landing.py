"""How far a table has landed, from its objects' names."""

import json
from typing import TYPE_CHECKING

from local.platform.services import LANDING_BUCKET, LocalTable

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# Of a topic's single partition.
_PARTITION = "0"


def lands_behind(s3: "S3Client", table: LocalTable, name: str) -> bool:
    """Tell whether a table's landing has an object after the one of this name; all come after an empty name."""
    prefix = table.landing_prefix
    after = s3.list_objects_v2(Bucket=LANDING_BUCKET, Prefix=prefix, StartAfter=prefix + name)
    # Objects that S3Proxy is still writing have another ending.
    return any(entry["Key"].endswith(".json") for entry in after.get("Contents", []))


def offset_behind(name: str) -> int:
    """Return the offset after a landed object's last event, from its name."""
    return int(name.rpartition("/")[2].partition("_")[0]) + 1


def consumed(progress: str | None) -> str:
    """Return the last object that a commit's progress names, below its topic's folder; empty without one.

    `progress`: as written by `spark_jobs/sources/file_progress.py`; other sources' progress names no object.
    """
    try:
        names = json.loads(progress or "{}")["watermarks"].values()
    except (ValueError, LookupError, AttributeError, TypeError):
        return ""
    below_topic = ("/".join(str(name).split("/")[-2:]) for name in names)
    return next((name for name in below_topic if name.startswith(f"{_PARTITION}/")), "")
