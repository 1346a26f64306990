"""Tags of AWS resources that stacks, handlers, commands and the conditions of their rights share.

Keys and values keep to what RDS allows: letters, digits, blanks and _ . : / = + - @ (RDS API reference, `Tag`).
"""

import time

ALL_KEYS = "cdc-lake-*"
# The stack and logical id of the custom resource that owns a connector or plugin.
OWNER = "cdc-lake-owner"
# The former owner, while a deployment that takes it over isn't complete.
FORMER_OWNER = "cdc-lake-former-owner"
# The request that created a connector, what was last asked of it, and what the service then showed (stacks/handlers).
CREATED_BY = "cdc-lake-created-by"
ASKED = "cdc-lake-asked"
SHOWN = "cdc-lake-shown"
# On an EMR cluster: the environment whose steps it runs.
CLUSTER = "cdc-lake-cluster"
# On the source's cluster, followed by a hash of the owner's entry: one for each custom resource that has prepared it.
PREPARED_BY = "cdc-lake-prepared-by-"
# On the source's cluster while the outbox's changes may be missing in the lake; `./lake resnapshot` removes it. Value:
# since when, ISO 8601 in UTC.
RESNAPSHOT = "cdc-lake-resnapshot"
_SINCE = "since "


def prepared_by(pipeline: str) -> str:
    """Return the prefix for a pipeline of ordinary tables; PREPARED_BY is the outbox's."""
    return f"cdc-lake-{pipeline}-prepared-by-"


def resnapshot(pipeline: str) -> str:
    """Return the tag for a pipeline of ordinary tables; RESNAPSHOT is the outbox's."""
    return f"cdc-lake-{pipeline}-resnapshot"


def since(seconds: float) -> str:
    """Write the time from which changes may be missing, in seconds since 1970."""
    return time.strftime(f"{_SINCE}%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def missed_in(entry: str) -> str:
    """Return since when changes may be missing, as an external database's record says it; "" if they aren't."""
    last = entry.rpartition("/")[2]
    return last if last.startswith(_SINCE) else ""
