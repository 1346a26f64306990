"""What a commit carries of a look is read again as it was, and another source's is refused."""

import json
import re

import pytest

from spark_jobs.errors import SettingsError
from spark_jobs.options.jdbc_settings import Detection
from spark_jobs.sources.postgres.control import Control
from spark_jobs.sources.postgres.detection import all_rows, why_anew
from spark_jobs.sources.postgres.progress import Mark, Progress, read_progress

MARK = Mark(system="7/1", shape="s", horizon=2**40, members=(16384, 16390), since=("5/x", "4"), low=5)
PROGRESS = Progress(
    table="public.address", mark=MARK, target=MARK, whole=True, after="-123", read_ms=7, swept_ms=6, rows=603
)


def test_progress_is_read_as_it_was_written() -> None:
    assert read_progress(PROGRESS.to_text(), "public.address") == PROGRESS
    assert read_progress(None, "public.address") == Progress(table="public.address")


@pytest.mark.parametrize(
    "text", ["topic,0:5", "{}", "[]", json.dumps({"version": 2, "source": "jdbc"}), '{"version":1,"source":"files"}']
)
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="isn't one of JdbcSource: give --ignore-checkpoint"):
        read_progress(text, "public.address")


def test_another_tables_progress_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"progress of public\.address, the settings say public\.city"):
        read_progress(PROGRESS.to_text(), "public.city")


@pytest.mark.parametrize(
    ("begun", "reason"),
    [
        (999, "the database knows fewer transactions than before"),
        (1_000, None),
        (2**31 - 2**20, None),
        # Some more begin before the rows are read.
        (1_000 + 2**31 - 1, r"2\^31 transactions were begun"),
        (1_000 + 2**31, r"2\^31 transactions were begun"),
        (1_000 + 2**32, r"2\^31 transactions were begun"),
    ],
)
def test_all_rows_are_read_where_32_bits_do_not_tell_what_is_older(begun: int, reason: str | None) -> None:
    mark = Mark(system="7/1", shape="s", horizon=1_000, members=(1,), since=("1",))
    found = why_anew(mark, control("1", begun), Detection.XMIN)
    assert found is None if reason is None else re.match(reason, str(found))


@pytest.mark.parametrize(
    ("standby", "servers", "all_rows_at"),
    [
        (False, "AABBA", "ABA"),
        # A name that stands for several: each is compared once.
        (True, "ABABACB", "ABC"),
    ],
)
def test_all_rows_are_read_once_for_each_start_of_a_server(standby: bool, servers: str, all_rows_at: str) -> None:
    mark, anew = Mark(system="7/1", shape="s", horizon=1, members=(1,)), ""
    for server in servers:
        seen = control(server, 2, standby=standby)
        if (reason := why_anew(mark, seen, Detection.XMIN)) is not None:
            assert "was started again" in reason
            anew += server
        # No digests are asked for.
        mark = all_rows(None, None, seen, Detection.XMIN, mark)  # type: ignore[arg-type]
    assert anew == all_rows_at


def test_an_earlier_releases_progress_has_all_rows_read_once() -> None:
    text = PROGRESS.to_text().replace('["5/x","4"]', '"2026-11-23 15:00:00+00"')
    progress = read_progress(text, "public.address")
    assert progress.mark is not None
    assert "was started again" in str(why_anew(progress.mark, control("5/x", 2**40), Detection.XMIN))


def control(since: str, begun: int, *, standby: bool = False) -> Control:
    return Control(
        horizon=begun,
        next_transaction=begun,
        standby=standby,
        system="7/1",
        since=since,
        oldest_micros=None,
        kind="r",
        foreign=False,
        members=(1,),
        indexes=(2,),
        shape="s",
    )
