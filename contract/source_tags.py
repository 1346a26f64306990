"""Tags of the source's database cluster, by which the source preparation and those who run an environment agree.

Keys and values keep to what RDS allows: letters, digits, blanks and _ . : / = + - @ (RDS API reference, `Tag`).
"""

# Followed by a hash of whose entry it is: one tag per custom resource that has prepared the database.
PREPARED_BY = "cdc-lake-prepared-by-"
# There while changes may be missing in the lake; `./lake resnapshot` takes it away. Value: since when, ISO 8601 in UTC.
RESNAPSHOT = "cdc-lake-resnapshot"
KEYS = "cdc-lake-*"


def prepared_by(pipeline: str) -> str:
    """Begin the tag of who has prepared a pipeline of ordinary tables; the outbox's begins with PREPARED_BY."""
    return f"cdc-lake-{pipeline}-prepared-by-"
