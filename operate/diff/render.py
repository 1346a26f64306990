"""Writes the changes: first in words, the gravest first, then as a diff."""

from collections.abc import Iterator

from operate.diff.comparison import Changes


def text(changes: Changes) -> str:
    """Return the whole text, which ends with a newline."""
    return "\n".join(_lines(changes)) + "\n"


def _lines(changes: Changes) -> Iterator[str]:
    yield f"{changes.environment} against {changes.base}: {changes.summary}"
    for section in changes.sections:
        yield ""
        yield f"{'! ' if section.grave else ''}{section.title}"
        yield from (f"  - {line}" for line in section.lines)
    if changes.resolved:
        yield ""
        yield "Looked up at the deployment"
        yield from (f"  - {line}" for line in changes.resolved)
    if changes.diff:
        yield ""
        yield "Diff (asset hashes left out)"
        yield changes.diff.rstrip("\n")
