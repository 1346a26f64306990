"""What a commit carries of a look is read again as it was, and another source's is refused."""

import json

import pytest

from spark_jobs.errors import SettingsError
from spark_jobs.sources.jdbc.progress import Mark, Progress, read_progress

MARK = Mark(system="77/1", shape="abc", horizon=2**40, members=(16384, 16390), low=5)
PROGRESS = Progress(
    table="public.address", mark=MARK, target=MARK, whole=True, after=("a'b", "ü"), read_ms=7, swept_ms=6, rows=603
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
