"""Tags of AWS resources, by which stacks, handlers, commands and the conditions of their rights agree.

Keys and values keep to what RDS allows: letters, digits, blanks and _ . : / = + - @ (RDS API reference, `Tag`).
"""

ALL_KEYS = "cdc-lake-*"
# The stack and logical id of the custom resource that a connector or plugin belongs to.
OWNER = "cdc-lake-owner"
# Whose it was, while a deployment that takes it over isn't complete.
FORMER_OWNER = "cdc-lake-former-owner"
# The request that made a connector, and those that were asked and shown of it since (stacks/handlers).
CREATED_BY = "cdc-lake-created-by"
ASKED = "cdc-lake-asked"
SHOWN = "cdc-lake-shown"
# On an EMR cluster: the environment whose steps it runs.
CLUSTER = "cdc-lake-cluster"
# On the source's cluster, followed by a hash of whose entry it is: one for each custom resource that has prepared it.
PREPARED_BY = "cdc-lake-prepared-by-"
# On the source's cluster while changes may be missing in the lake; `./lake resnapshot` takes it away. Value: since
# when, ISO 8601 in UTC.
RESNAPSHOT = "cdc-lake-resnapshot"


def prepared_by(pipeline: str) -> str:
    """Begin the tag of who has prepared a pipeline of ordinary tables; the outbox's begins with PREPARED_BY."""
    return f"cdc-lake-{pipeline}-prepared-by-"
