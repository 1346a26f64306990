"""Writes a pipeline's file as text, so that the user's own changes are kept."""

import json
import math
import re
import textwrap
import tomllib
from collections.abc import Iterable, Mapping, Sequence

from capture.entry import Entry
from contract.source import CONNECTOR_ROLE
from contract.table_names import lake_name
from db.source.catalogue import Table

WIDTH = 120
DEFAULT_BUCKETS = 2
MOST_BUCKETS = 256
# Bucket files up to this many rows are rewritten in seconds.
ROWS_PER_BUCKET = 500_000
_TABLE = re.compile(r"^[ \t]*\[\[[ \t]*tables[ \t]*\]\][^\n]*\n", re.MULTILINE)
_KEY = re.compile(r"^[ \t]*key[ \t]*=[ \t]*\[[^\]\n]*\][^\n]*\n", re.MULTILINE)
_LEAVE_OUT = re.compile(r"^[ \t]*leave_out[ \t]*=[ \t]*\[", re.MULTILINE)

_HEADER = """\
# What is captured of the database {database}. Made by `./lake source describe {name}`, and yours to edit: every key is
# explained in docs/reference/pipeline-file.md. After an edit: `./lake source prepare {name} --dsn …`.

[source]
database = {quoted}
truncate = "stop"   # what a TRUNCATE does: stop, apply or ignore (docs/reference/source-changes.md)
first_load = "connector"   # who reads the rows that are there: direct is several times faster (docs/decisions/0024)
"""

_QUERY_HEADER = """\
# What is queried of the database {database}. Made by `./lake source describe {name} --how query`, and yours to edit:
# every key is explained in docs/reference/pipeline-file.md. After an edit, `./lake source prepare {name} --dsn …`
# checks it.

[source]
database = {quoted}
# role = "reader"   # the role that the job logs in as (default: {role}): SELECT on the tables is enough
"""


def pipeline_text(name: str, database: str, entries: Sequence[Entry], refused: Sequence[tuple[Table, str]]) -> str:
    """Return a whole new file."""
    header = _QUERY_HEADER if any(entry.is_queried for entry in entries) else _HEADER
    text = header.format(name=name, database=_one_line(database), quoted=_string(database), role=CONNECTOR_ROLE)
    text += "".join(f"\n{entry_text(entry)}" for entry in entries)
    if refused:
        text += "\n# Not captured:\n" + "".join(
            _comment(f"{_one_line(str(table.name))}: {reason}") for table, reason in refused
        )
    return text


def entry_text(entry: Entry) -> str:
    """Return one table's entry, with losses as comments."""
    lines = [_comment(note) for note in entry.notes]
    how = "query" if entry.is_queried else "log"
    lines += ["[[tables]]\n", *_names(entry), f'how = "{how}"\n', f"key = {_list(entry.key)}\n"]
    if entry.append_only:
        lines.append("append_only = true\n")
    if entry.lake_table != lake_name(entry.table.name.name):
        lines.append(f"lake_table = {_string(entry.lake_table)}\n")
    if entry.change_columns:
        reason = "if each change sets it and an index has it: looked at between two looks at all rows"
        lines.append(_comment(f"column = {_string(entry.change_columns[0])}  # {reason}"))
    lines += _buckets(entry.table.rows)
    if entry.leave_out:
        lines.append("leave_out = [\n" + _left_out(entry.leave_out) + "]\n")
    if entry.may_hash:
        cut = f"; cut to the column's length: {', '.join(entry.cut_hashes)}" if entry.cut_hashes else ""
        reason = f"if it is personal data: travels as SHA-256{cut}"
        lines.append(_comment(f"hash = {_list(entry.may_hash)}  # {reason}"))
    if entry.may_leave_out:
        reason = "if nobody should have it: not captured"
        if entry.leave_out:
            lines.append(_comment(f"{_list(entry.may_leave_out)} in leave_out {reason}"))
        else:
            lines.append(_comment(f"leave_out = {_list(entry.may_leave_out)}  # {reason}"))
    return "".join(lines)


def with_left_out(text: str, number: int, columns: Mapping[str, str]) -> str | None:
    """Return the file's text with these columns added to what table `number` (from 0) leaves out, each with the reason.

    The rest is unchanged. None if the file's layout differs so much from ours that their place can't be found.
    """
    wanted = tomllib.loads(text)
    table = wanted["tables"][number]
    table["leave_out"] = [*columns, *table.get("leave_out", ())]
    headers = [*_TABLE.finditer(text), None]
    header = headers[number] if number < len(headers) else None
    if header is None:
        return None
    after = headers[number + 1]
    end = after.start() if after else len(text)
    if found := _LEAVE_OUT.search(text, header.end(), end):
        rest = text[found.end() :]
        made = f"{text[: found.end()]}\n{_left_out(columns)}{rest.removeprefix(chr(10))}"
    else:
        key = _KEY.search(text, header.end(), end)
        at = key.end() if key else header.end()
        made = f"{text[:at]}leave_out = [\n{_left_out(columns)}]\n{text[at:]}"
    try:
        return made if tomllib.loads(made) == wanted else None
    except tomllib.TOMLDecodeError:
        return None


def _left_out(columns: Mapping[str, str]) -> str:
    return "".join(f"    {_string(name)},  # {_one_line(reason)}\n" for name, reason in columns.items())


def _names(entry: Entry) -> list[str]:
    name = entry.table.name
    if "." in name.schema or "." in name.name:
        return [f"schema = {_string(name.schema)}\n", f"table = {_string(name.name)}\n"]
    return [f"source = {_string(str(name))}\n"]


def _buckets(rows: int | None) -> list[str]:
    buckets = min(MOST_BUCKETS, math.ceil((rows or 0) / ROWS_PER_BUCKET))
    if buckets <= DEFAULT_BUCKETS:
        return []
    return [f"buckets = {buckets}   # for about {rows:,} rows; it can't be changed once there is data\n"]


def _list(names: Iterable[str]) -> str:
    return "[" + ", ".join(map(_string, names)) + "]"


def _string(text: str) -> str:
    """Write a TOML basic string: JSON's, except for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(text: str) -> str:
    lines = textwrap.wrap(_one_line(text), WIDTH, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False)
    return "".join(f"{line}\n" for line in lines)


def _one_line(text: str) -> str:
    """Escape line ends and control characters, which a comment can't contain."""
    return "".join(sign if sign.isprintable() else " " for sign in text)
