"""A pipeline's state in one word, and the stages of an event: shared by the live page and CloudWatch.

`./lake dashboard` judges by the last minute, CloudWatch's alarms by an environment's limits: the words mean the same,
but each has its own thresholds in seconds (local/state/word.py, `[monitoring]`).
"""

from collections.abc import Mapping
from enum import StrEnum

SOURCE = "source"
SLOT = "slot"
TOPIC = "topic"
LANDING = "landing"
JOB = "job"
LAKE = "lake"
CATALOGUE = "catalogue"
# In the order in which an event passes them.
STAGES = (SOURCE, SLOT, TOPIC, LANDING, JOB, LAKE, CATALOGUE)

# Quarantined events make a pipeline failing for this long; a multiple of CloudWatch's period of 5 minutes.
QUARANTINED_MINUTES = 10


class Word(StrEnum):
    """The state, from the worst to the best."""

    DOWN = "down"
    FAILING = "failing"
    NO_ANSWER = "no answer"
    STARTING = "starting"
    LATE = "late"
    MOVING = "moving"
    UP_TO_DATE = "up to date"


MEANING: Mapping[Word, str] = {
    Word.DOWN: "it doesn't run, and nothing starts it by itself",
    Word.FAILING: "a part of it has failed or says what is wrong",
    Word.NO_ANSWER: "it hangs and doesn't say why",
    Word.STARTING: "nothing is known of it yet",
    Word.LATE: "changes are on their way for longer than they may be",
    Word.MOVING: "changes are on their way",
    Word.UP_TO_DATE: f"all that was committed is in the {LAKE}",
}
