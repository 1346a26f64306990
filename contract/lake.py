"""Where things are in the buckets of landing and lake, and what the lake is called."""

# The Glue database on one machine; an environment's begins with its name.
DATABASE = "datalake"
# Of the objects that the sink lands: `<prefix>/<topic>/<partition>/<offsets>.json` (docs/decisions/0040).
LANDING_PREFIX = "cdc-events"
# Beside a table: what the job has put aside of it (docs/decisions/0023).
QUARANTINE_FOLDER = "_quarantine"
# In a step's command line on EMR where its stop file's address goes: the stack writes it, the handler replaces it.
STOP_FILE = "{stop_file}"
