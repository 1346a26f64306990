"""What is wrong with tables that are made of others: a query that can't be one, names that are taken or missing."""

from collections.abc import Iterator

from analytics.translate import TranslationError
from settings.pipeline import DerivedTableSettings, Pipeline

Problem = tuple[str, str]


def broken(pipeline: Pipeline) -> Iterator[Problem]:
    """Yield what is wrong. A query may name the captured tables, and the derived ones before its own."""
    there = [pipeline.lake_table(table) for table in pipeline.tables]
    for table in pipeline.with_history:
        where, own = f"tables[{pipeline.tables.index(table)}].history", pipeline.history_table(table)
        if not table.key:
            yield where, "an append-only table has each version itself: take history out"
        if own in there:
            yield where, f"{own} is another table in the lake: give that one another name"
        there.append(own)
    for number, derived in enumerate(pipeline.derived):
        where, own = f"derived[{number}]", pipeline.lake_table(derived)
        if own in there:
            yield f"{where}.name", f"{own} is another table in the lake: give one another name"
        yield from _query(where, derived, there)
        there.append(own)


def _query(where: str, table: DerivedTableSettings, there: list[str]) -> Iterator[Problem]:
    try:
        query = table.query
    except TranslationError as error:
        yield f"{where}.sql", str(error)
        return
    if not query.tables:
        yield f"{where}.sql", "it names no table"
    for name in query.tables:
        if name not in there:
            yield f"{where}.sql", f"there is no table {name} before it: there are {', '.join(there)}"
    if query.columns is None:
        return
    for name in table.key:
        if name not in query.columns:
            yield f"{where}.key", f"{name!r} isn't a column of the query: {', '.join(query.columns)}"
