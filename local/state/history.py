"""The timeline: the lake's commits with their rows, and the errors between them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from local.look.lake import Lake
from local.platform.supervisor import Restarts
from local.problem import Problem
from spark_jobs.options.keys import PROGRESS

# Maximum errors, and commits of a table.
KEPT, MOST_COMMITS = 500, 5_000


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A commit of the job: when it began, its rows by kind of change, and how far the job had read by then."""

    instant: str
    at: float
    inserted: int
    updated: int
    deleted: int
    progress: str


@dataclass(frozen=True, kw_only=True)
class Failure:
    """An error from `at` to `ended` (None while it lasts), in seconds since 1970."""

    text: str
    at: float
    ended: float | None = None


def instant_time(instant: str) -> float:
    """Return when a commit began, in seconds since 1970, from its instant `yyyyMMddHHmmssSSS` in UTC."""
    return datetime.strptime(f"{instant[:17]}000+0000", "%Y%m%d%H%M%S%f%z").timestamp()


class Commits:
    """The job's commits seen of one table, oldest first; each commit's metadata is read once."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self.all: Sequence[Commit] = ()
        self.newest: tuple[str, Mapping[str, str]] = "", {}

    def read(self, lake: Lake) -> None:
        """Add the new commits. Raises LakeError."""
        new = lake.commit_metadata(self._seen)
        # A table service's commit moves rows and adds none.
        of_job = {instant: one for instant, one in new.items() if PROGRESS in (one.get("extraMetadata") or {})}
        extras = ((instant, one["extraMetadata"]) for instant, one in of_job.items())
        self.newest = max([self.newest, *extras], key=lambda one: one[0])
        found = (self._commit(instant, metadata) for instant, metadata in of_job.items())
        self.all = sorted([*self.all, *found], key=lambda commit: commit.instant)[-MOST_COMMITS:]
        self._seen = {*sorted(self._seen | new.keys())[-MOST_COMMITS:]}

    def _commit(self, instant: str, metadata: Mapping[str, Any]) -> Commit:
        by_partition: Mapping[str, Sequence[Mapping[str, Any]]] = metadata.get("partitionToWriteStats") or {}
        stats = [stat for partition in by_partition.values() for stat in partition]
        return Commit(
            instant=instant,
            at=instant_time(instant),
            inserted=sum(int(stat["numInserts"]) for stat in stats),
            updated=sum(int(stat["numUpdateWrites"]) for stat in stats),
            deleted=sum(int(stat["numDeletes"]) for stat in stats),
            progress=metadata["extraMetadata"][PROGRESS],
        )


class Failures:
    """Errors and their times, from each look's problems; earlier ones that are missing have ended."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], Failure] = {}
        self._ended: list[Failure] = []

    def note(self, problems: Iterable[Problem], now: float) -> None:
        wrong = {(problem.part, problem.what): str(problem) for problem in problems}
        for key in self._open.keys() - wrong.keys():
            self._ended = [*self._ended, replace(self._open.pop(key), ended=now)][-KEPT:]
        for key, text in wrong.items():
            before = self._open.get(key)
            self._open[key] = Failure(text=text, at=before.at if before else now)

    def all(self) -> list[Failure]:
        return [*self._open.values(), *self._ended]


def restarted(restarts: Mapping[str, Restarts]) -> list[Failure]:
    return [
        Failure(
            text=f"{name} was restarted ({entry.total} times): {entry.reason}", at=entry.last_at, ended=entry.last_at
        )
        for name, entry in restarts.items()
    ]
