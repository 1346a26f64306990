"""What is watched of each pipeline, and how many tables share an alarm."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Metric math in an alarm takes ten metrics (CloudWatch user guide, "Using metric math"; quotas), one of which says what
# has landed. A pipeline of no more tables has an alarm for each.
OF_AN_ALARM = 9


@dataclass(frozen=True, kw_only=True)
class WatchedWay:
    """What events pass between the log and the landing: both connectors, the topics, the filter of what lands."""

    source: str
    sink: str
    sink_tasks: int
    topics: Sequence[str]
    landed: str


@dataclass(frozen=True, kw_only=True)
class WatchedPipeline:
    """A pipeline's names: its tables in the lake, and what has it travel, None where it is queried.

    `ignoring` are those tables whose TRUNCATEs are ignored. `suffix` tells its alarms from other pipelines'; the
    first one's has none.
    """

    name: str
    suffix: str
    way: WatchedWay | None
    tables: Sequence[str]
    ignoring: Sequence[str]

    @property
    def roles(self) -> dict[str, tuple[str, int]]:
        """Name and tasks of both connectors, by what they are called in alarms."""
        way = self.way
        if way is None:
            return {}
        return {f"source{self.suffix}": (way.source, 1), f"sink{self.suffix}": (way.sink, way.sink_tasks)}

    def alarmed(self, names: Sequence[str], *, of_one: str) -> Iterator[tuple[str, Sequence[str]]]:
        """Share out tables or topics among alarms: what an alarm is about, and of which of them.

        Up to nine tables have an alarm each, `of_one` naming the one; more go by nines, numbered.
        """
        if len(names) <= OF_AN_ALARM:
            yield from ((of_one.format(name), [name]) for name in names)
            return
        for number, some in enumerate(self.groups(names, OF_AN_ALARM), 1):
            yield f"{self.name}-{number}", some

    @staticmethod
    def groups(names: Sequence[str], size: int, *, alone: bool = True) -> Iterator[Sequence[str]]:
        """Cut names into as many as go together: one by one where they are few and may be `alone`."""
        step = 1 if alone and len(names) <= OF_AN_ALARM else size
        yield from (names[first : first + step] for first in range(0, len(names), step))
