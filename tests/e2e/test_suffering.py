"""The platform under faults, left to its supervisor: a sample of what `./lake dev test faults` repeats."""

import pytest

from local.errors import LostChangesError, PlatformError
from local.platform.platform import Platform
from local.resnapshot.command import resnapshot_platform
from local.resnapshot.run import Wanted
from local.state.collect import Collector
from tests.conftest import execute
from tests.e2e.faults import (
    SERVICES,
    SUPERVISED,
    Writing,
    killed,
    stopped,
    suspended,
    wait_until_told,
    wait_until_well,
)
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900), pytest.mark.long]

# One after the other, overlapping: at first a group's neighbors keep running, then nothing does, and each resumes among
# others that have run on without it or hang themselves.
STOPPED = (("postgres", "sink", "moto"), ("connect", "s3"), ("kafka", "job"))
KILLED = (("postgres", "connect"), ("kafka", "s3"))
# Slow, because each commit of the job costs CPU that the other tests need.
SLOWLY = Writing(transactions=16, rate=0.3, before=1)
QUICKLY = Writing(transactions=40, rate=10, before=15)


@pytest.fixture(scope="module")
def supervised(platform: Platform) -> Platform:
    """The platform of the other end-to-end tests, with a supervisor."""
    result = Platform(platform.state_dir, SUPERVISED)
    result.up()
    return result


def test_services_that_hang_for_a_minute_each_lose_nothing(supervised: Platform) -> None:
    stopped(supervised, groups=STOPPED, writing=SLOWLY, first_order=2_000_000)


@pytest.mark.parametrize("names", KILLED, ids=", ".join)
def test_two_services_killed_at_once_lose_nothing(supervised: Platform, names: tuple[str, ...]) -> None:
    killed(supervised, names=names, writing=QUICKLY, first_order=3_000_000 + 10_000 * KILLED.index(names))


def test_all_services_killed_at_once_come_back_by_the_supervisor(supervised: Platform) -> None:
    assert [service.running for service in Collector(supervised).look().services] == [True] * (len(SERVICES) + 1)
    # 62 s on a machine with a load of 20 (docs/decisions/0030); other tests run in parallel.
    assert killed(supervised, names=SERVICES, writing=QUICKLY, first_order=4_000_000) < 120


def test_a_deleted_topic_is_loud(supervised: Platform) -> None:
    """Its events can't come back automatically, not even those that the sink hasn't landed."""
    with suspended(supervised, "sink"):
        before = supervised.topic.count()
        execute(supervised.source, "UPDATE datalake.orders SET freight = freight + 1 WHERE order_id = 10254")
        wait_until(lambda: supervised.topic.count() > before)
        supervised.services.kafka.delete_topic(supervised.topic.name)
    wait_until_told(supervised, f"the topic {supervised.topic.name} ")
    with pytest.raises(LostChangesError, match=rf"the topic {supervised.topic.name} .*run `\./lake resnapshot`"):
        supervised.up()


def test_lost_wal_is_loud_until_one_command_repairs_it(supervised: Platform) -> None:
    """A connector restarted by the supervisor must not continue past the gap; the topic is still missing, too."""
    source = supervised.source
    with suspended(supervised, "connect"):
        execute(source, "ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'")
        execute(source, "SELECT pg_reload_conf()")
        execute(source, "UPDATE datalake.orders SET freight = freight + 1 WHERE order_id = 10248")
        for _ in range(3):
            execute(source, "SELECT pg_logical_emit_message(false, 'filler', repeat('x', 1000000)), pg_switch_wal()")
        execute(source, "CHECKPOINT")
    lost = "the replication slot cdc_orders of devdb is lost"
    wait_until_told(supervised, lost)
    with pytest.raises(PlatformError, match=lost):
        supervised.up()
    wait_until_told(supervised, lost)
    execute(source, "ALTER SYSTEM RESET max_slot_wal_keep_size")
    execute(source, "SELECT pg_reload_conf()")
    said: list[str] = []
    assert resnapshot_platform(supervised, Wanted(timeout_s=120), said.append).equal
    assert any("landed objects of the former topic set aside" in line for line in said)
    wait_until_well(supervised)
