"""The alarms' words, limits and texts, by runbook.

Needs no CDK.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from contract.states import CATALOGUE, JOB, MEANING, STAGES, Word
from settings.services import Monitoring

MEGABYTE = 1024 * 1024
# At this multiple of the first alarm's limit, its runbook hasn't helped, and storage is what matters.
WAL_DISK_FACTOR = 4
# Runbook (a section of docs/aws/alarms.md, which names alarms and events) → its word (docs/decisions/0059).
WORDS: Mapping[str, Word] = MappingProxyType(
    {
        # MSK Connect doesn't restart connectors, EMR neither clusters nor steps.
        "connector-not-running": Word.DOWN,
        "emr-cluster-terminated": Word.DOWN,
        "emr-step-failed": Word.DOWN,
        # Something has reported a failure or a fault.
        "broker-disk": Word.FAILING,
        "connector-task-failed": Word.FAILING,
        "ignored-truncate": Word.FAILING,
        "quarantined-events": Word.FAILING,
        "table-failing": Word.FAILING,
        # It claims to run, but without results.
        "nothing-landed": Word.NO_ANSWER,
        # Changes come, but late.
        "commit-age": Word.LATE,
        "horizon-age": Word.LATE,
        "replication-slot-lag": Word.LATE,
        "wal-disk": Word.LATE,
    }
)
# Reported by mail, without an alarm: EMR's events by their detail-type and state.
EVENTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "emr-step-failed": ("EMR Step Status Change", "FAILED"),
        "emr-cluster-terminated": ("EMR Cluster State Change", "TERMINATED_WITH_ERRORS"),
    }
)
# The words without alarms, and how the dashboard shows them.
ON_THEIR_WAY = f"{Word.MOVING} / {Word.UP_TO_DATE}: events on their way"
UNALARMED: Mapping[Word, str] = MappingProxyType(
    {
        Word.STARTING: "alarms that have no state yet (INSUFFICIENT_DATA), as after a first deployment",
        Word.MOVING: f'no alarm, and "{ON_THEIR_WAY}" is above 0',
        Word.UP_TO_DATE: "no alarm, and that graph is at 0",
    }
)


def limits(settings: Monitoring) -> Mapping[str, float]:
    """The limits by runbook. Connectors' alarms use their tasks instead; all others without an entry use 0."""
    return {
        "replication-slot-lag": settings.slot_lag_mb * MEGABYTE,
        "wal-disk": WAL_DISK_FACTOR * settings.slot_lag_mb * MEGABYTE,
        "broker-disk": settings.broker_disk_percent,
        "commit-age": settings.commit_age_minutes * 60,
        "horizon-age": settings.horizon_age_minutes * 60,
    }


def alarm_text(runbook: str, what: str) -> str:
    """Write an alarm's or event's text: its word, the facts, and its runbook."""
    return f"{WORDS[runbook]}: {what}. Runbook: docs/aws/alarms.md#{runbook}"


def event_pattern(prefix: str, runbook: str) -> dict[str, Any]:
    """EventBridge's pattern of an event. They are matched by name: a replaced cluster has another id."""
    type_, state = EVENTS[runbook]
    name = {"prefix": f"{prefix}-"} if runbook == "emr-step-failed" else prefix
    return {"source": ["aws.emr"], "detail-type": [type_], "detail": {"state": [state], "name": [name]}}


def heading(word: Word) -> str:
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
    runbooks = (f"{each} (by mail)" if each in EVENTS else each for each, its_word in WORDS.items() if its_word is word)
    return UNALARMED.get(word) or ", ".join(runbooks)
