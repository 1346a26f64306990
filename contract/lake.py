"""Where things are in the buckets of landing and lake."""

# Of the objects that the sink lands: `<prefix>/<topic>/<partition>/<offsets>.json` (docs/decisions/0040).
LANDING_PREFIX = "cdc-events"
# Beside a table: what the job has put aside of it (docs/decisions/0023).
QUARANTINE_FOLDER = "_quarantine"
