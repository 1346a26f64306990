"""The job's metrics in CloudWatch: the job publishes them, the alarms and the dashboard read them.

The namespace is the environment's prefix; spark_jobs/runtime/metrics.py has each one's meaning.
"""

# The dimension; its value is `<database>.<table>`.
DIMENSION = "table"
COMMITS = "Commits"
EVENTS = "Events"
UPSERTS = "Upserts"
DELETES = "Deletes"
QUARANTINED = "Quarantined"
MISSING_OFFSETS = "MissingOffsets"
LATE_FILES = "LateFiles"
FAILED_ATTEMPTS = "FailedAttempts"
IGNORED_TRUNCATES = "IgnoredTruncates"
HORIZON_AGE_SECONDS = "HorizonAgeSeconds"
COMMIT_SECONDS = "CommitSeconds"
LAG_SECONDS = "LagSeconds"
COMMIT_AGE_SECONDS = "CommitAgeSeconds"


def table_value(database: str, table: str) -> str:
    return f"{database}.{table}"
