"""The decision pages: each dated, listed and complete; each reference leads to an existing page."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.test_docs import ROOT, TRACKED

FOLDER = ROOT / "docs" / "decisions"
PAGES = sorted(FOLDER.glob("[0-9]*.md"))
NUMBERS = {page.name[:4] for page in PAGES}
# Below the title: the date of the first version, and whether it holds.
HEAD = re.compile(
    r"# (?P<number>\d{4}) (?P<title>.+)\n\n"
    r"Date: (?P<date>\d{4}-\d{2}-\d{2})\. Status: (?P<status>accepted|superseded by \[\d{4}\]\([\w-]+\.md\))\.\n\n## "
)
WIDTH = 120


def problems(page: Path) -> Iterator[str]:
    text = page.read_text()
    if not (head := HEAD.match(text)) or head["number"] != page.name[:4]:
        yield "begins with `# NNNN title`, a blank line, `Date: YYYY-MM-DD. Status: accepted.`, a blank line"
    if re.findall(r"^## (.+)$", text, re.MULTILINE) != ["Context", "Decision", "Consequences"]:
        yield "has the sections Context, Decision, Consequences"
    long = [number for number, line in enumerate(text.splitlines(), 1) if len(line) > WIDTH]
    if long:
        yield f"has no line of more than {WIDTH} characters: {long}"


def test_each_page_has_its_form() -> None:
    assert [(page.name, problem) for page in PAGES for problem in problems(page)] == []
    assert len(PAGES) == len(NUMBERS)


def test_the_index_lists_each_page_as_it_calls_itself_in_order() -> None:
    heads = [(page, HEAD.match(page.read_text())) for page in PAGES]
    rows = [
        f"| [{page.name[:4]}]({page.name}) | {h['title']} | {h['date']} | {h['status']} |" for page, h in heads if h
    ]
    index = (FOLDER / "README.md").read_text().splitlines()
    assert [line for line in index if line.startswith("| [")] == rows


def test_every_decision_that_is_named_is_there() -> None:
    texts = {name: (ROOT / name).read_text(errors="ignore") for name in TRACKED if (ROOT / name).is_file()}
    named = {(name, n) for name, text in texts.items() for n in re.findall(r"\bdecisions?[/ ](\d{4})\b", text)}
    assert {(name, number) for name, number in named if number not in NUMBERS} == set()


def test_documents_link_the_decisions_that_they_name() -> None:
    """`([0040](0040-landing-and-local-sink.md))`: a bare number says neither what it is nor whether it exists."""
    unlinked = {
        name: re.sub(r"\[[^\]]*\]\([^)]*\)|`[^`]*`|^# .*", "", (ROOT / name).read_text(), flags=re.MULTILINE)
        for name in TRACKED
        if name.endswith(".md") and (ROOT / name).is_file()
    }
    bare = {name: re.findall(r"(?:[(,;] ?|\bdecisions? )(00[0-9]{2})\b", text) for name, text in unlinked.items()}
    assert {name: numbers for name, numbers in bare.items() if numbers} == {}
