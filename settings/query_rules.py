"""What is wrong in the entries of tables that are queried (how = "query"): they have no connector and no log."""

from collections.abc import Iterator

from contract.events import READ_MS
from plugins.source.captured import CapturedTable
from settings.pipeline import QUERY_FIELDS, CapturedTableSettings, Pipeline

Problem = tuple[str, str]
_NO_SALT = (
    "a queried table can't hash: the salt would have to go to the database or its values in clear to the job; leave"
    " the column out (leave_out), or capture the table by its log"
)


def together(pipeline: Pipeline) -> Iterator[Problem]:
    """Yield what a pipeline can't have side by side."""
    queried = [table.name for table in pipeline.tables if table.is_queried]
    if queried and not pipeline.is_queried:
        yield (
            "tables",
            f"{', '.join(queried[:3])}: queried, and others are captured by the log or the outbox: make a pipeline of"
            " the queried ones",
        )


def broken(where: str, table: CapturedTableSettings) -> Iterator[Problem]:
    """Yield what is wrong with one entry."""
    if not table.is_queried:
        for name in QUERY_FIELDS:
            if name in table.model_fields_set:
                yield f"{where}.{name}", f'it is for how = "query", and how is {table.how!r}: take it out'
        return
    yield from _detection(where, table)
    yield from ((f"{where}.{name}", reason) for name, reason in unlisted(table.captured))
    if table.append_only:
        yield f"{where}.append_only", "rows that are queried are told by their key: name its columns (key)"
    if table.hash:
        yield f"{where}.hash", _NO_SALT
    if table.truncate != "stop":
        yield f"{where}.truncate", "no query sees a TRUNCATE: deletes_max_percent says how many rows may go at a time"
    if table.ordering != READ_MS:
        yield f"{where}.ordering", f"a column may go back: take it out, queried rows are ordered by {READ_MS}"


def unlisted(table: CapturedTable) -> Iterator[Problem]:
    """Yield names that the job can't take: a table's is schema.table to it, the columns that it leaves out a list."""
    if "." in table.schema + table.table or table.name != table.name.strip():
        reason = "a name with a dot, or a blank at its end, can't be given to the job: give a query in its place"
        yield "table", f"{table.name}: {reason}"
    for column in table.leave_out:
        if "," in column or column != column.strip():
            yield "leave_out", f"{column!r} can't stand in a list: give a query in the table's place"


def _detection(where: str, table: CapturedTableSettings) -> Iterator[Problem]:
    if table.detect == "column" and table.column is None:
        yield f"{where}.column", 'detect = "column" needs it: the timestamp of a row\'s last change'
    if table.column is not None and table.detect not in ("auto", "column"):
        yield f"{where}.column", f"detect = {table.detect!r} asks for no column: take one of them out"
    if table.column is not None and table.column in table.leave_out:
        yield f"{where}.column", f"{table.column!r} is left out: take it out there"
    if table.query is not None and table.detect not in ("auto", "hash"):
        yield f"{where}.detect", f'a query\'s rows have no {table.detect}: say "hash", or nothing'
    if table.query is not None and table.column is not None:
        yield f"{where}.column", "the rows of a query are found by their hashes: take it out"
