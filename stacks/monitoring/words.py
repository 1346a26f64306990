"""The live page's words on CloudWatch: which one each alarm and event stands for, and what the dashboard says of it.

Nothing of CDK is needed here.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from contract.states import CATALOGUE, JOB, MEANING, STAGES, Word

# Runbook (a section of docs/aws/alarms.md, after which alarms and events are named) → its word (docs/decisions/0059).
WORDS: Mapping[str, Word] = MappingProxyType(
    {
        # MSK Connect starts no connector again by itself, EMR neither cluster nor step.
        "connector-not-running": Word.DOWN,
        "emr-cluster-terminated": Word.DOWN,
        "emr-step-failed": Word.DOWN,
        # Something has said that it failed or what is wrong.
        "broker-disk": Word.FAILING,
        "connector-task-failed": Word.FAILING,
        "ignored-truncate": Word.FAILING,
        "quarantined-events": Word.FAILING,
        "table-failing": Word.FAILING,
        # It runs, as far as it says, and nothing comes of it.
        "nothing-landed": Word.NO_ANSWER,
        # Changes come, but not as soon as they should.
        "commit-age": Word.LATE,
        "horizon-age": Word.LATE,
        "replication-slot-lag": Word.LATE,
        "wal-disk": Word.LATE,
    }
)
# What comes by mail and has no alarm.
EVENTS = ("emr-cluster-terminated", "emr-step-failed")
# The words that no alarm has, and how the dashboard tells them.
ON_THEIR_WAY = f"{Word.MOVING} / {Word.UP_TO_DATE}: events on their way"
UNALARMED: Mapping[Word, str] = MappingProxyType(
    {
        Word.STARTING: "alarms that have no state yet (INSUFFICIENT_DATA), as after a first deployment",
        Word.MOVING: f'no alarm, and "{ON_THEIR_WAY}" is above 0',
        Word.UP_TO_DATE: "no alarm, and that graph is at 0",
    }
)


def said(runbook: str, what: str) -> str:
    """Write what an alarm or an event tells: its word, what it is, and where to read on."""
    return f"{WORDS[runbook]}: {what}. Runbook: docs/aws/alarms.md#{runbook}"


def heading(word: Word) -> str:
    """Write a word with what it means."""
    return f"{word}: {MEANING[word]}"


def key(name: str) -> str:
    """Return, in Markdown, what the words mean and how to read the graphs."""
    return "\n".join(
        (
            f"## {name}",
            "The live page's words. An alarm tells its word of one part; the first row with a red one is the state.",
            "",
            "| word | what it means | here |",
            "|---|---|---|",
            *(f"| **{word}** | {MEANING[word]} | {_here(word)} |" for word in Word),
            "",
            f"Graphs are in the order in which an event passes: {' → '.join(STAGES)}. The {CATALOGUE} has no figure:"
            f" the {JOB} tells it of new columns and partitions, and says in its log when that fails.",
        )
    )


def _here(word: Word) -> str:
    return UNALARMED[word] if word in UNALARMED else ", ".join(_runbooks(word))


def _runbooks(word: Word) -> Iterator[str]:
    for runbook, its_word in WORDS.items():
        if its_word is word:
            yield f"{runbook} (by mail)" if runbook in EVENTS else runbook
