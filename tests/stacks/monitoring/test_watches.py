"""The state word of each alarm and event, and its section in the documents."""

import re
from pathlib import Path

import pytest

from contract.states import MEANING, Word
from stacks.monitoring.watches import EVENTS, UNALARMED, WORDS, alarm_text, heading, key

PAGE = Path(__file__).resolve().parents[3] / "docs" / "aws" / "alarms.md"
# The page's sections, by heading: the anchors that alarms link.
SECTIONS = dict(re.findall(r"^## (.+)\n(.+(?:\n(?!## ).*)*)", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


def test_every_alarm_has_a_section_in_the_documents() -> None:
    assert WORDS.keys() == SECTIONS.keys()


@pytest.mark.parametrize("name", WORDS)
def test_a_section_begins_with_its_word_then_says_what_it_means_what_to_check_and_what_to_do(name: str) -> None:
    kind = "event rule" if name in EVENTS else "alarm"
    assert SECTIONS[name].startswith(f"**{WORDS[name]}**, {kind}")
    assert re.findall(r"^\*\*(Meaning|Check|Do)\.\*\*", SECTIONS[name], re.MULTILINE) == ["Meaning", "Check", "Do"]


def test_every_word_is_told_by_alarms_or_in_another_way_but_not_by_both() -> None:
    assert {*WORDS.values()} | UNALARMED.keys() == {*Word}
    assert {*WORDS.values()} & UNALARMED.keys() == set()


def test_a_description_begins_with_the_word_and_ends_with_the_runbook() -> None:
    assert alarm_text("commit-age", "It is old") == f"{Word.LATE}: It is old. Runbook: docs/aws/alarms.md#commit-age"


def test_the_key_has_each_word_in_its_order_with_what_it_means_and_what_tells_it() -> None:
    rows = [line.split(" | ") for line in key("x").splitlines() if line.startswith("| **")]
    assert [(row[0], row[1]) for row in rows] == [(f"| **{word}**", MEANING[word]) for word in Word]
    said_of = dict(zip(Word, (row[2] for row in rows), strict=True))
    for runbook, word in WORDS.items():
        assert [each for each in Word if runbook in said_of[each]] == [word]
    assert all(f"{runbook} (by mail)" in said_of[WORDS[runbook]] for runbook in EVENTS)


def test_a_heading_says_what_the_word_means() -> None:
    assert heading(Word.LATE) == f"{Word.LATE}: {MEANING[Word.LATE]}"
