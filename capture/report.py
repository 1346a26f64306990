"""Output of `./lake source describe` and `./lake source prepare`: a line per fact.

Tables without losses are only counted.
"""

from collections.abc import Iterable, Iterator

from capture.entry import Entry, Proposal, server_notes
from capture.pipeline_file import Changes
from contract.table_names import listed
from db.source.catalogue import Database, Table
from db.source.plan import Plan

# Further ones of a kind are only counted.
SHOWN = 40


def database_lines(database: Database, *, queried: bool = False) -> Iterator[str]:
    """Report which server answered, and its problems."""
    server = database.server
    kind = "RDS or Aurora" if server.hosted else "PostgreSQL"
    version = f"{server.version // 10_000}.{server.version % 10_000}"
    yield f"{server.database}: {kind} {version}, seen as {server.role}"
    yield from (f"  {note}" for note in server_notes(server, queried=queried))


def proposal_lines(proposal: Proposal, database: Database) -> Iterator[str]:
    """Report per table what is captured and what is lost, and which tables aren't captured."""
    yield f"{count(len(proposal.entries), 'table')} to capture:"
    spoken = [entry for entry in proposal.entries if _said(entry)]
    for entry in spoken[:SHOWN]:
        key = f"key {', '.join(entry.key)}" if entry.key else "append-only"
        yield f"  {entry.table.name} → {entry.lake_table}, {key}"
        yield from (f"    {line}" for line in _said(entry))
    yield from _more(len(spoken) - SHOWN, "further tables with remarks: they stand in the file")
    quiet = [entry for entry in proposal.entries if not _said(entry)]
    if quiet:
        names = listed([str(entry.table.name) for entry in quiet], SHOWN)
        yield f"  {'without a remark' if spoken else 'nothing is lost of'}: {names}"
    yield from _type_lines(proposal)
    yield from _long_lines(proposal)
    yield from refused_lines(proposal.refused)
    if database.sequences:
        yield f"{count(database.sequences, 'sequence')}: no log has them; the ids that they gave are in rows"


def _said(entry: Entry) -> list[str]:
    lines = list(entry.notes)
    lines += [f"{name} is left out: {reason}" for name, reason in entry.leave_out.items()]
    if entry.may_hash or entry.may_leave_out:
        names = ", ".join((*entry.may_hash, *entry.may_leave_out))
        ways = "leave_out" if entry.is_queried else "hash or leave_out"
        lines.append(f"perhaps personal data: {names} ({ways}, in the file as comments)")
    return lines


def _type_lines(proposal: Proposal) -> Iterator[str]:
    """Report once per type how its values differ in the lake, with its columns."""
    columns: dict[str, list[str]] = {}
    for entry in proposal.entries:
        for name, note in entry.types:
            columns.setdefault(note, []).append(f"{entry.table.name}.{name}")
    if columns:
        yield "Values that the lake has in another form:"
    for note, names in columns.items():
        yield f"  {note} ({listed(names, 3)})"


def _long_lines(proposal: Proposal) -> Iterator[str]:
    tables = [str(entry.table.name) for entry in proposal.entries if entry.long_values]
    if tables:
        yield (
            "An update that changes the key of a row leaves out its long values (over about 2 kB) that it doesn't"
            " change: the lake takes them from the old key's row, or sets the event aside. Where keys change often:"
            " ALTER TABLE … REPLICA IDENTITY FULL before `./lake source prepare`. Tables that may have such values:"
            f" {listed(tables, SHOWN)}"
        )


def refused_lines(refused: Iterable[tuple[Table, str]]) -> Iterator[str]:
    """Report which tables aren't captured, and why."""
    reasons: dict[str, list[str]] = {}
    for table, reason in refused:
        reasons.setdefault(f"{table.kind}: {reason}", []).append(str(table.name))
    if reasons:
        yield "Not captured:"
    for reason, names in reasons.items():
        yield f"  {listed(names, SHOWN)}, {reason}"


def changes_lines(name: str, changes: Changes, *, update: bool) -> Iterator[str]:
    """Report what the pipeline's files lack compared with the database, and whether it was added."""
    verb = "added to" if update else "not in"
    yield from (f"  {table} is {verb} pipelines/{name}.toml" for table in changes.tables[:SHOWN])
    yield from _more(len(changes.tables) - SHOWN, "more tables")
    for table, columns in changes.left_out.items():
        for column, reason in columns.items():
            yield f"  {table}: {column} {'is now' if update else 'should be'} in leave_out: {reason}"
    has = "has now" if update else "lacks"
    yield from (f"  pipelines/{file} {has} what the database has" for file in list(changes.schemas)[:SHOWN])
    yield from _more(len(changes.schemas) - SHOWN, "more schemas")
    yield from (f"  {line}" for line in changes.said)
    to_add = changes.tables or changes.schemas or changes.left_out
    if not to_add and not changes.said:
        yield "  as the database has it"
    elif not update and to_add:
        again = f"./lake source describe {name} --dsn … --update"
        yield f"  --update adds it, and leaves what you have written as it is: {again}"


def plan_lines(plan: Plan) -> Iterator[str]:
    """Report problems of preparing, missing rights, and remarks."""
    yield from (f"  {problem}" for problem in plan.problems)
    yield from (f"  you may not {right}" for right in plan.missing_rights)
    yield from (f"  {remark}" for remark in plan.remarks)


def count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _more(number: int, what: str) -> Iterator[str]:
    if number > 0:
        yield f"  … and {number:,} {what}"
