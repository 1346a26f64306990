import threading
from typing import Any

import pytest

from db import loading
from db.loading import LoadOptions, prepare
from local.services.postgres import ConnectionParameters

pytestmark = pytest.mark.integration


def test_of_two_preparations_at_once_one_loads_and_the_other_finds_it_done(database: ConnectionParameters) -> None:
    reports: list[Any] = []
    both = threading.Barrier(2)

    def run() -> None:
        both.wait()
        reports.append(prepare(database, LoadOptions(connector_password="x")))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(report.events if report else 0 for report in reports) == [0, 829]


def test_a_preparation_that_breaks_leaves_nothing(
    database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    class PowerCutError(Exception):
        pass

    def cut(*_: object) -> int:
        raise PowerCutError

    with monkeypatch.context() as patched:
        patched.setattr(loading, "fill", cut)
        with pytest.raises(PowerCutError):
            prepare(database, LoadOptions(connector_password="x"))
    report = prepare(database, LoadOptions(connector_password="x"))
    assert report is not None
    assert report.events == 829
