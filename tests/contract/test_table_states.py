"""The lines in which the job reports the state of its tables."""

import pytest

from contract.table_states import FAILING, LOADING, RUNNING, line, parse


@pytest.mark.parametrize(
    "said",
    [
        ("shop.orders", RUNNING, None),
        ("shop.orders", FAILING, None),
        ("shop.orders", LOADING, "1,200 of about 3,000 rows read, 600 rows/s, 3 s of reading left"),
        ("shop.orders", FAILING, "s3://b/x.avsc: no such file, state=odd reason=none"),
    ],
)
def test_what_is_written_is_read(said: tuple[str, str, str | None]) -> None:
    assert parse(line(*said)) == said


def test_a_commits_line_is_not_a_state() -> None:
    assert parse("commit=20261122020202 rows=3 table=shop.orders") is None
    assert parse("table=shop.orders state=") is None
