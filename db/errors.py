"""The one error that the loader shows its user."""


class LoadError(Exception):
    """The load can't go on. Its text is one line: what, where, what to do. The database is as it was."""
