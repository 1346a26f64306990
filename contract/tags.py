"""Tags of AWS resources, by which stacks, handlers and the conditions of their rights agree.

Those of the source's cluster, which commands look at as well, are in contract/source_tags.py.
"""

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
