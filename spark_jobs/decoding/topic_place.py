"""Where an event stands in its topic, as far as a source tells: what tells a repeated event from a new one.

An event of a file counts as the file's last one: a batch takes files whole, so what is newer than a batch is in a
later file. The time is that of the record, by the clock of the connector that sent it. A topic that was made again
counts offsets from 0 again, but its records are later.
"""

from typing import NamedTuple

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F

# In a batch's `tie`: offset, when the record was sent (ms), and whether its file lies below what was read before.
OFFSET, SENT_MS, LATE = "tie.offset", "tie.sent_ms", "tie.late"


class TopicPlace(NamedTuple):
    """An offset, and when its record was sent, in ms."""

    offset: int
    sent_ms: int


def isnt_behind(offset: Expression, sent_ms: Expression) -> Expression:
    """Tell whether an event stands at a place or before it; False where its source doesn't say."""
    return F.coalesce((F.col(OFFSET) <= offset) & (F.col(SENT_MS) <= sent_ms), F.lit(False))
