"""The top of the dashboard: what the words mean, and below each other, the worst first, the alarms that stand for one.

CloudWatch's dashboards are 24 units wide; an alarm status widget shows 100 alarms at most (API reference, "Dashboard
Body Structure and Syntax").
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from aws_cdk import aws_cloudwatch as cloudwatch

from contract.states import Word
from stacks.monitoring.watches import ON_THEIR_WAY, UNALARMED, heading, key

WIDTH = 24
HALF = WIDTH // 2
ALARMS_OF_A_WIDGET = 100
ALARMS_OF_A_LINE = 4
KEY_HEIGHT = 11
GRAPH_HEIGHT = 5


def state_widgets(
    name: str, alarms: Mapping[Word, Sequence[cloudwatch.IAlarm]], on_their_way: Sequence[cloudwatch.IMetric]
) -> list[cloudwatch.IWidget]:
    """Return two columns: the key with the graph for times without an alarm, and the alarms by word."""
    widgets = [widget for word in Word for widget in _alarms(word, alarms)]
    height = max(sum(int(widget.height) for widget in widgets), KEY_HEIGHT + GRAPH_HEIGHT)
    columns = (
        cloudwatch.Column(
            cloudwatch.TextWidget(markdown=key(name), width=HALF, height=KEY_HEIGHT),
            cloudwatch.GraphWidget(title=ON_THEIR_WAY, left=list(on_their_way), width=HALF, height=height - KEY_HEIGHT),
        ),
        cloudwatch.Column(*widgets),
    )
    # jsii's Column has a widget's properties only at run time.
    return [cast("cloudwatch.IWidget", column) for column in columns]


def heading_line(text: str) -> cloudwatch.IWidget:
    return cloudwatch.TextWidget(
        markdown=f"## {text}", width=WIDTH, height=1, background=cloudwatch.TextWidgetBackground.TRANSPARENT
    )


def _alarms(word: Word, alarms: Mapping[Word, Sequence[cloudwatch.IAlarm]]) -> Iterator[cloudwatch.IWidget]:
    """Yield a word's alarms, with those that ring first; of what is starting, all that have no state yet."""
    starting = word is Word.STARTING
    every = [alarm for some in alarms.values() for alarm in some] if starting else [*alarms[word]]
    if word in UNALARMED and not starting:
        return
    for first in range(0, len(every), ALARMS_OF_A_WIDGET):
        some = every[first : first + ALARMS_OF_A_WIDGET]
        yield cloudwatch.AlarmStatusWidget(
            title=heading(word),
            alarms=some,
            states=[cloudwatch.AlarmState.INSUFFICIENT_DATA] if starting else None,
            sort_by=cloudwatch.AlarmStatusWidgetSortBy.STATE_UPDATED_TIMESTAMP,
            width=HALF,
            height=3 if starting else 2 + math.ceil(len(some) / ALARMS_OF_A_LINE),
        )
