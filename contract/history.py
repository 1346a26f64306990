"""A history table's columns in addition to its table's; the job writes them, queries read them."""

# A history table's name is its table's with this suffix.
SUFFIX = "_history"
# When the version became valid, a timestamp; whether the row was deleted then; the first commit of the table with it;
# its position, from 0, among a row's versions in that commit, the last being the one that the commit kept.
VALID_FROM, ENDED, COMMIT, VERSION = "valid_from", "ended", "__commit", "__version"
COLUMNS = (VALID_FROM, ENDED, COMMIT, VERSION)


def column(name: str) -> str:
    """Return a column's name in the history: an underscore is added to COLUMNS' names, with or without underscores.

    Names stay distinct whichever columns are added later.
    """
    return f"{name}_" if name.rstrip("_") in COLUMNS else name
