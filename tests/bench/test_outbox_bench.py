"""The outbox benchmark: it parses pgbench's output, and its row triggers have the faults that ours avoid."""

import itertools
from collections.abc import Iterator

import pytest

from bench.job import execute
from bench.outbox.command import FOLDER, VARIANTS, WORKLOADS, prepare, transactions
from contract.errors import UserError
from local.services.postgres import Postgres
from tests.conftest import fresh_database
from tests.db.conftest import WALK_THROUGH, Shop

ANSWER = """\
pgbench (16.14)
number of transactions actually processed: 812
number of failed transactions: 0 (0.000%)
latency average = 4.9 ms
tps = 203.456 (without initial connection time)
"""


def test_reads_the_throughput() -> None:
    assert transactions(0, ANSWER, "") == (203.456, 812)


@pytest.mark.parametrize(
    ("returncode", "output"),
    [(1, ANSWER), (0, ANSWER.replace("failed transactions: 0", "failed transactions: 3")), (0, "no figure")],
)
def test_a_run_in_which_something_failed_doesnt_count(returncode: int, output: str) -> None:
    with pytest.raises(UserError, match="pgbench failed"):
        transactions(returncode, output, "")


@pytest.fixture(scope="module")
def prepared(postgres: Postgres) -> Iterator[Postgres]:
    prepare(postgres, ["row_triggers"])
    yield postgres
    execute(postgres.connection_parameters(), "DROP DATABASE row_triggers WITH (FORCE)")


@pytest.mark.integration
def test_row_triggers_send_stale_events(prepared: Postgres) -> None:
    database = prepared.connection_parameters("row_triggers")
    # The event reader needs it.
    execute(database, "ALTER TABLE datalake.cdc_events REPLICA IDENTITY FULL")
    with fresh_database(prepared, template="row_triggers") as parameters:
        shop = Shop(parameters)
        assert [event.op for event in shop.commit(*WALK_THROUGH)] == ["c", "u", "u", "u"]
        shop.commit("UPDATE orders SET employee_id = 1 WHERE order_id = 11075")
        assert shop.value("SELECT employee ->> 'employee_id' FROM cdc_events WHERE order_id = 11075") == "8"
        shop.close()
    execute(database, "ALTER TABLE datalake.cdc_events REPLICA IDENTITY DEFAULT")


def test_its_sql_is_beside_it() -> None:
    assert {path.stem for path in FOLDER.glob("*.sql")} == {*WORKLOADS, *itertools.chain(*VARIANTS.values())}
