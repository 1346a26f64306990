"""Which of the live page's words an alarm or an event stands for, and what is said of them."""

from pathlib import Path

import pytest

from contract.states import MEANING, Word
from stacks.monitoring.words import EVENTS, UNALARMED, WORDS, heading, key, said

RUNBOOKS = Path(__file__).resolve().parents[3] / "docs" / "runbooks"


def test_every_runbook_has_one_word() -> None:
    assert WORDS.keys() == {path.stem for path in RUNBOOKS.glob("*.md")}


@pytest.mark.parametrize("path", sorted(RUNBOOKS.glob("*.md")), ids=lambda path: path.stem)
def test_a_runbook_begins_with_the_word_of_what_leads_to_it(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    kind = "event rule" if path.stem in EVENTS else "alarm"
    assert lines[2].startswith(f"State **{WORDS[path.stem]}**, {kind}")


def test_every_word_is_told_by_alarms_or_in_another_way_but_not_by_both() -> None:
    assert {*WORDS.values()} | UNALARMED.keys() == {*Word}
    assert {*WORDS.values()} & UNALARMED.keys() == set()


def test_what_is_told_begins_with_the_word_and_ends_with_the_runbook() -> None:
    assert said("commit-age", "It is old") == f"{Word.LATE}: It is old. Runbook: docs/runbooks/commit-age.md"


def test_the_key_has_each_word_in_its_order_with_what_it_means_and_what_tells_it() -> None:
    rows = [line.split(" | ") for line in key("x").splitlines() if line.startswith("| **")]
    assert [(row[0], row[1]) for row in rows] == [(f"| **{word}**", MEANING[word]) for word in Word]
    said_of = dict(zip(Word, (row[2] for row in rows), strict=True))
    for runbook, word in WORDS.items():
        assert [each for each in Word if runbook in said_of[each]] == [word]
    assert all(f"{runbook} (by mail)" in said_of[WORDS[runbook]] for runbook in EVENTS)


def test_a_heading_says_what_the_word_means() -> None:
    assert heading(Word.LATE) == f"{Word.LATE}: {MEANING[Word.LATE]}"
