"""Where what belongs to a table lies: beside it, in folders that no reader of the lake takes for a table's."""

CLAIMS_FOLDER = "_claims"
# The events of commits, until the table's history has the versions that these make (docs/decisions/0093).
EVENTS_FOLDER = "_events"


def beside(base_path: str, folder: str) -> str:
    """Return a table's part of a folder beside it; a table that has a bucket of its own has the folder in itself."""
    parent, _, name = base_path.rpartition("/")
    if not parent or parent.endswith("/"):  # a bucket of its own
        return f"{base_path}/{folder}"
    return f"{parent}/{folder}/{name}"
