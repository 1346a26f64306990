"""What a history table's rows have besides their table's own columns; the job writes them, queries read them."""

# What a history table is called: its table's name, and this behind it.
SUFFIX = "_history"
# From when the version holds, a timestamp; whether the row is gone from then on; the table's commit that had it first;
# and of several versions of a row in that commit which one it is, from 0, the last one being what the commit left.
VALID_FROM, ENDED, COMMIT, VERSION = "valid_from", "ended", "__commit", "__version"
COLUMNS = (VALID_FROM, ENDED, COMMIT, VERSION)


def column(name: str) -> str:
    """Return what a history calls a column of its table: that name, with one more underscore behind one of COLUMNS.

    So no two names become one, whichever columns come later.
    """
    return f"{name}_" if name.rstrip("_") in COLUMNS else name
