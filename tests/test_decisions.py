"""The decision pages: each dated, listed and whole; each reference to one leads to a page that is there."""

import re
from pathlib import Path

import pytest

from tests.test_docs import ROOT, TRACKED

FOLDER = ROOT / "docs" / "decisions"
PAGES = sorted(FOLDER.glob("[0-9]*.md"))
NUMBERS = {page.name[:4] for page in PAGES}
INDEX = (FOLDER / "README.md").read_text()
# What is under the title: when the page was first written, and whether it holds.
HEAD = re.compile(r"# \d{4} (?P<title>.+)\n\nDate: (?P<date>\d{4}-\d{2}-\d{2})\. Status: (?P<status>.+)\.\n\n## ")
STATUS = re.compile(r"accepted|superseded by \[\d{4}\]\([\w-]+\.md\)")
WIDTH = 120
by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name[:4])


def test_no_number_is_used_twice() -> None:
    assert len(PAGES) == len(NUMBERS)


@by_page
def test_a_decision_has_its_three_parts(page: Path) -> None:
    headings = re.findall(r"^## (.+)$", page.read_text(), re.MULTILINE)
    assert headings[:3] == ["Context", "Decision", "Consequences"]


@by_page
def test_a_decision_says_when_it_was_made_and_whether_it_holds(page: Path) -> None:
    head = HEAD.match(page.read_text())
    assert head, "below the title: `Date: YYYY-MM-DD. Status: accepted.`, and a blank line before and after"
    assert STATUS.fullmatch(head["status"])


@by_page
def test_a_decision_is_in_the_index_as_it_calls_itself(page: Path) -> None:
    head = HEAD.match(page.read_text())
    assert head
    row = f"| [{page.name[:4]}]({page.name}) | {head['title']} | {head['date']} | {head['status']} |"
    assert row in INDEX.splitlines(), f"docs/decisions/README.md needs this row: {row}"


def test_the_index_is_in_order_and_lists_nothing_else() -> None:
    assert re.findall(r"^\| \[(\d{4})\]", INDEX, re.MULTILINE) == [page.name[:4] for page in PAGES]


def test_the_index_has_a_word_for_each_number_that_is_left_out_within_a_ten() -> None:
    tens = [sorted(int(number) for number in NUMBERS if number[:3] == ten) for ten in {n[:3] for n in NUMBERS}]
    left_out = {number for ten in tens for number in range(ten[0], ten[-1])} - {int(number) for number in NUMBERS}
    words = INDEX.partition("\n## ")[0]
    named = {int(number) for number in re.findall(r"\b\d{4}\b", words)}
    for first, last in re.findall(r"\b(\d{4}) to (\d{4})\b", words):
        named |= set(range(int(first), int(last) + 1))
    assert left_out == named, "the index's introduction names the numbers that are left out, and no others"


@by_page
def test_no_line_of_a_decision_is_too_long(page: Path) -> None:
    long = [number for number, line in enumerate(page.read_text().splitlines(), 1) if len(line) > WIDTH]
    assert long == [], f"more than {WIDTH} characters"


def test_every_decision_that_is_named_is_there() -> None:
    named = {
        (name, number)
        for name in TRACKED
        if (ROOT / name).is_file()
        for number in re.findall(r"\bdecisions/(\d{4})\b", (ROOT / name).read_text(errors="ignore"))
    }
    assert {(name, number) for name, number in named if number not in NUMBERS} == set()


@pytest.mark.parametrize("name", [name for name in TRACKED if name.endswith(".md")])
def test_documents_link_the_decisions_that_they_name(name: str) -> None:
    """`([0041](0041-sink-stand-in.md))`: a bare number says neither what it is nor whether it is there."""
    unlinked = re.sub(r"\[[^\]]*\]\([^)]*\)|`[^`]*`|^# .*", "", (ROOT / name).read_text(), flags=re.MULTILINE)
    if name == "docs/decisions/README.md":
        unlinked = unlinked.partition("\n## ")[2]
    assert re.findall(r"(?:[(,;] ?|\bdecisions? )(00[0-9]{2})\b", unlinked) == []
