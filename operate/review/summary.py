"""The review in the terminal: the verdict, the essentials, and where the page is."""

import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from operate.review.page import Page

WIDTH = 120
INDENT = 35


def summary(page: Page, paths: Iterable[Path]) -> str:
    """Write about twenty lines, with every finding."""
    return "\n".join(_lines(page, paths))


def _lines(page: Page, paths: Iterable[Path]) -> Iterator[str]:
    yield f"{page.prefix}: account {page.account}, {page.region}"
    yield page.verdict.words
    for found in page.verdict.findings:
        yield f"  {found.level}: {found.rule}: {found.resource}: {found.message}"
    yield ""
    for question, answers in (*page.verdict.rows, *_changes(page)):
        yield textwrap.fill(
            f"{question + ':':<{INDENT}}{'; '.join(answers)}",
            width=WIDTH,
            subsequent_indent=" " * INDENT,
            break_on_hyphens=False,
            break_long_words=False,
        )
    yield ""
    yield f"For a decision, read {' or '.join(str(path) for path in paths)}"


def _changes(page: Page) -> Iterator[tuple[str, tuple[str, ...]]]:
    if page.verdict.changes is not None:
        yield "Changes against the snapshot", page.verdict.changes
