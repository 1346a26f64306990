"""Locations in the landing and lake buckets, and the lake's name."""

# The Glue database on one machine; an environment's begins with the environment's name.
DATABASE = "datalake"
# Prefix of the objects that the sink lands: `<prefix>/<topic>/<partition>/<offsets>.json` (docs/decisions/0040).
LANDING_PREFIX = "cdc-events"
# Next to a table: its quarantined events (docs/decisions/0023).
QUARANTINE_FOLDER = "_quarantine"
# Placeholder for the stop file's address in an EMR step's command line: the stack writes it, the handler replaces it.
STOP_FILE = "{stop_file}"
