"""Where an event is in its topic, if the source tells: this distinguishes a repeated event from a new one.

An event of a file counts as the file's last one: a batch takes files whole, so anything newer than a batch is in a
later file. The time is the record's, by the clock of the connector that sent it. A recreated topic counts offsets from
0 again, but its records are later.
"""

from typing import NamedTuple

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F

# In a batch's `tie`: offset, send time of the record (ms), and whether its file is below those read before.
OFFSET, SENT_MS, LATE = "tie.offset", "tie.sent_ms", "tie.late"


class TopicPlace(NamedTuple):
    """An offset, and the record's send time in ms."""

    offset: int
    sent_ms: int


def isnt_behind(offset: Expression, sent_ms: Expression) -> Expression:
    """Check whether an event is at a place or before it; False if its source doesn't say."""
    return F.coalesce((F.col(OFFSET) <= offset) & (F.col(SENT_MS) <= sent_ms), F.lit(False))
