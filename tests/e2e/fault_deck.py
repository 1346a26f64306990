"""The faults of a running platform: what breaks, what `status` must then say, and what ends it."""

import json
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path

from confluent_kafka import Producer

from local.errors import PlatformError
from local.look.json_lines import prefix
from local.platform.platform import Platform
from local.platform.services import LAKE_BUCKET, LocalTable
from local.platform.startup import SUPERVISOR
from local.services.kafka import ADMIN
from local.services.kafka_rights import SINK
from tests.conftest import execute
from tests.e2e.faults import delete_objects, drop_slot, kill, outrun_slot, outwrite_start, restored, suspended
from tests.waiting import wait_until

# A larger disk isn't filled.
SMALL_DISK_BYTES = 8 * 1024**3
# Ends what a fault's break has left; None where nothing is left, or where the remedy that status names ends it.
End = Callable[[], object] | None
Break = Callable[[Platform], End]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault. `told`: how a problem that `status` and page must name begins, a regular expression.

    `alarm`: the section of docs/aws/alarms.md that an environment has for the same. `held_s`: the least and the most
    seconds that it lasts once it has been told; a fault that nothing ends lasts until it is repaired.
    """

    name: str
    breaks: Break
    told: str
    alarm: str | None = None
    held_s: tuple[float, float] = (0, 5)


def deck(platform: Platform) -> list[Fault]:
    """Return all faults that a platform of this pipeline, on its disk, can have."""
    queried = platform.services.pipeline.is_queried
    services = sorted(platform.expected() - {SUPERVISOR})
    found = [*_deaths(services), *_secrets(queried=queried), _BROKEN_TABLE]
    if not queried:
        found += _LOSSES
        found += [_TRUNCATED] if platform.services.pipeline.outbox is None else [_RESTARTED_MEANWHILE]
    if shutil.disk_usage(platform.state_dir).total < SMALL_DISK_BYTES:
        found.append(Fault(name="a full disk", breaks=_fill, told="disk is full", held_s=(10, 60)))
    return found


def _deaths(services: list[str]) -> Iterator[Fault]:
    """Kills and stops of each service, of a pair, of all, and of the supervisor."""

    def dead(*names: str) -> str:
        return f"({'|'.join(names)}) (is dead|has died)"

    for name in services:
        yield Fault(name=f"kill -9 of {name}", breaks=partial(_kill, names=[name]), told=dead(name))
        hangs = f"{name} runs but doesn't answer"
        yield Fault(name=f"{name} stops", breaks=partial(_stop, names=[name]), told=hangs, held_s=(10, 60))
    pair = random.Random(len(services)).choice([*combinations(services, 2)])
    yield Fault(name=f"kill -9 of {' and '.join(pair)}", breaks=partial(_kill, names=pair), told=dead(*pair))
    yield Fault(name="kill -9 of all services", breaks=partial(_kill, names=services), told=dead(*services))
    yield Fault(name="kill -9 of the supervisor", breaks=partial(_kill, names=[SUPERVISOR]), told=dead(SUPERVISOR))
    everything = "the platform doesn't run, though `./lake down` didn't stop it"
    yield Fault(name="kill -9 of everything", breaks=partial(_kill, names=[SUPERVISOR, *services]), told=everything)


def _kill(platform: Platform, *, names: Sequence[str]) -> None:
    kill(platform, *names)


def _stop(platform: Platform, *, names: Sequence[str]) -> End:
    stopping = ExitStack()
    stopping.enter_context(suspended(platform, *names))
    return stopping.close


def _secrets(*, queried: bool) -> Iterator[Fault]:
    """Lost and wrong passwords, each in its file, and one that was changed in the database."""
    database = [("superuser", "postgres refuses the login"), ("connector", "password connector is refused")]
    kafka = [(f"kafka/{ADMIN}", "kafka refuses the login"), (f"kafka/{SINK}", "kafka knows other passwords than its")]
    for file, told in [*database, *([] if queried else kafka)]:
        name = Path(file).name
        lost = f"password {name} is lost"
        yield Fault(name=f"the lost password of {name}", breaks=partial(_write_password, file=file, text=""), told=lost)
        wrong = partial(_write_password, file=file, text="another")
        yield Fault(name=f"the wrong password of {name}", breaks=wrong, told=told)
    yield Fault(name="a password changed in the database", breaks=_alter_role, told=database[1][1])


def _write_password(platform: Platform, *, file: str, text: str) -> None:
    (platform.state_dir / "secrets" / file).write_text(text, encoding="utf-8")


def _alter_role(platform: Platform) -> None:
    role = platform.services.connector["user"]
    # Not the one that an earlier fault may have left in the file.
    execute(platform.source, f"ALTER ROLE {role} PASSWORD 'a third one'")
    # A session that has logged in wouldn't notice.
    execute(platform.source, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{role}'")


def _outrun_slot(platform: Platform) -> None:
    with suspended(platform, "connect"):
        outrun_slot(platform.source)


def _delete_topic(platform: Platform) -> None:
    """Its events can't come back by themselves, nor can those that the sink hasn't landed."""
    with suspended(platform, "sink"):
        platform.services.kafka.delete_topic(platform.topic.name)


def _restore(platform: Platform) -> None:
    with restored(platform):
        outwrite_start(platform.source)
        database, name = platform.services.database, platform.pipeline.connectors.source.slot_name
        position = database.wal_position()
        wait_until(lambda: (slot := database.slot(name, position)) and (slot.behind_bytes or 0) <= 0, every_s=0.5)
    try:
        platform.up()
    except PlatformError:
        # It says what is lost.
        assert platform.running() >= platform.expected()


def _produce(platform: Platform, value: bytes) -> None:
    producer = Producer(dict(platform.services.kafka.client(ADMIN)))
    producer.produce(platform.topic.name, value, b'{"replayed": true}')
    assert producer.flush(30) == 0


def _quarantine(platform: Platform) -> End:
    """Send an event whose key is no number. You may delete a quarantined event once you have handled it."""
    first, end = platform.topic.bounds()
    value = next(event.value for event in platform.topic.events(max(first, end - 50)) if event.value)
    table: LocalTable = platform.services.tables[0]
    _produce(platform, json.dumps({**value, table.entry.key[0]: "no number"}).encode())
    return partial(delete_objects, platform, LAKE_BUCKET, prefix(table.lake_name))


def _break_table(platform: Platform) -> End:
    """Spoil what Hudi reads first of a table; the job fails at its next commit."""
    table = platform.services.tables[0]
    properties = platform.state_dir / "s3" / "objects" / LAKE_BUCKET / table.lake_name / ".hoodie" / "hoodie.properties"
    text = properties.read_bytes()
    properties.write_bytes(b"hoodie.table.type=NONSENSE\n")
    return partial(properties.write_bytes, text)


def _fill(platform: Platform) -> End:
    ballast = platform.state_dir.parent / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue
    return ballast.unlink


def _restart_meanwhile(platform: Platform) -> None:
    """Drop the slot, spoil the supervisor's record, and kill Kafka: its clients wait for a broker that comes back."""
    platform.restarts_file.write_text('{"kafka": {"total": "many"}}', encoding="utf-8")
    drop_slot(platform)
    kill(platform, "kafka")


_SLOT = "the source doesn't deliver all changes: the replication slot "
_BROKEN_TABLE = Fault(
    name="a table that Hudi can't read",
    breaks=_break_table,
    told="table .* fails in the job|job (is dead|has died)",
    alarm="table-failing",
)
_LOSSES = [
    Fault(name="a dropped slot", breaks=drop_slot, told=_SLOT, alarm="connector-task-failed"),
    Fault(name="a slot that was outrun", breaks=_outrun_slot, told=_SLOT, alarm="connector-task-failed"),
    Fault(name="a deleted topic", breaks=_delete_topic, told="the source doesn't deliver all changes: the topic "),
    Fault(name="a restored database", breaks=_restore, told="the source doesn't deliver all changes: the log of "),
    Fault(
        name="an event that doesn't fit",
        breaks=_quarantine,
        told="table .* had events quarantined",
        alarm="quarantined-events",
    ),
    Fault(
        name="a record that is no JSON",
        breaks=lambda platform: _produce(platform, b"{"),
        told="table .* is set aside: the sink",
    ),
]
_TRUNCATED = Fault(
    name="an emptied table",
    breaks=lambda platform: execute(platform.source, "TRUNCATE rental"),
    told="table public.rental is set aside: public.rental was emptied by TRUNCATE",
    alarm="connector-task-failed",
)
_RESTARTED_MEANWHILE = Fault(name="a dropped slot, then kill -9 of kafka", breaks=_restart_meanwhile, told=_SLOT)
