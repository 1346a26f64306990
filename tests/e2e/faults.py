"""Faults of a platform, one at a time while orders are written; each ends with lake and source equal.

`./lake dev test faults --minutes 30` repeats all of them in random order: `./lake dev test faults`.
"""

import contextlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, Protocol

import psutil
import typer

from local.comparison.reconcile import compare_platform
from local.look.json_lines import count_quarantined
from local.platform.platform import Platform
from local.platform.record import PlatformOptions
from local.platform.startup import SUPERVISOR
from local.state.collect import Collector
from tests.e2e.writers import Writer
from tests.waiting import PATIENCE_S, wait_until

SERVICES = ("postgres", "kafka", "connect", "s3", "moto", "sink", "job")
PAIRS = tuple(combinations(SERVICES, 2))
SUPERVISED = PlatformOptions(supervised=True)
STOP_S = 60.0
STAGGER_S = 20.0
EQUAL_TIMEOUT_S = 180


def family(platform: Platform, name: str) -> list[psutil.Process]:
    """A service's process and all its children."""
    pid = platform.pid(name)
    assert pid is not None, f"{name} doesn't run"
    return [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]


def kill(platform: Platform, *names: str) -> None:
    """kill -9 services and all their children at once."""
    processes = [process for name in names for process in family(platform, name)]
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, timeout=PATIENCE_S)
    assert not [process for process in processes if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]


def wait_until_well(platform: Platform) -> None:
    """Wait until `status` has no problem: it may report a repaired fault a little longer."""
    found: list[str] = []

    def well() -> bool:
        found[:] = map(str, Collector(platform).look().problems)
        return not found

    try:
        wait_until(well, every_s=1)
    except AssertionError:
        raise AssertionError(found) from None


def wait_until_told(platform: Platform, problem: str) -> None:
    """Wait until `status` reports the problem."""
    wait_until(lambda: any(problem in str(found) for found in Collector(platform).look().problems), problem, every_s=1)


@contextlib.contextmanager
def suspended(platform: Platform, *names: str) -> Iterator[None]:
    """Suspend services: they see nothing of what happens meanwhile."""
    processes = [process for name in names for process in family(platform, name)]
    for process in processes:
        process.suspend()
    try:
        yield
    finally:
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()


@contextlib.contextmanager
def restored(platform: Platform) -> Iterator[None]:
    """Copy the server's files, run the platform, and restore the copy; the platform is down at the end."""
    data_dir = platform.services.postgres.cluster.data_dir
    copy = data_dir.with_name("backup")
    platform.down()
    subprocess.run(["cp", "-a", data_dir, copy], check=True)
    platform.up()
    yield
    platform.down()
    shutil.rmtree(data_dir)
    copy.rename(data_dir)


@dataclass(frozen=True, kw_only=True)
class Writing:
    """How many transactions run during a fault, how many a second, and how many before it."""

    transactions: int = 60
    rate: float = 10
    before: int = 20


def killed(platform: Platform, *, names: Iterable[str], writing: Writing, first_order: int) -> float:
    """Kill services at once, leave the rest to the supervisor; return the seconds until lake and source are equal."""
    before = {name: platform.pid(name) for name in names}

    def fault() -> None:
        kill(platform, *before)
        wait_until(lambda: all(platform.pid(name) not in (None, was) for name, was in before.items()), "restarted")

    return _survived(platform, fault, writing, first_order)


def stopped(platform: Platform, *, groups: Sequence[Iterable[str]], writing: Writing, first_order: int) -> float:
    """Stop each group of services for STOP_S with SIGSTOP, each STAGGER_S after the one before.

    Returns the seconds from the end of the last one until lake and source are equal.
    """

    def stop(number: int) -> None:
        time.sleep(number * STAGGER_S)
        with suspended(platform, *groups[number]):
            time.sleep(STOP_S)

    def fault() -> None:
        with ThreadPoolExecutor(len(groups)) as pool:
            list(pool.map(stop, range(len(groups))))

    return _survived(platform, fault, writing, first_order) - STOP_S - (len(groups) - 1) * STAGGER_S


def everything_killed(platform: Platform, *, writing: Writing, first_order: int) -> float:
    """Kill all services and the supervisor, and start with `up`; return the seconds until lake and source are equal."""

    def fault() -> None:
        kill(platform, SUPERVISOR, *SERVICES)
        platform.up()

    return _survived(platform, fault, writing, first_order)


def check(platform: Platform) -> None:
    """Raise AssertionError unless source and lake become equal and nothing is in quarantine."""
    [comparison] = compare_platform(platform, timeout_s=EQUAL_TIMEOUT_S)
    assert comparison.equal, comparison
    assert comparison.source_rows == comparison.lake_rows > 0
    assert count_quarantined(platform.services.s3.client(), "cdc_events") == 0


def _survived(platform: Platform, fault: Callable[[], None], writing: Writing, first_order: int) -> float:
    with Writer(
        platform.source,
        transactions=writing.transactions,
        rate=writing.rate,
        first_order=first_order,
        patient=True,
    ) as writer:
        writer.wait_for(writing.before)
        began = time.monotonic()
        fault()
    check(platform)
    return time.monotonic() - began


class Fault(Protocol):
    """Injects a fault into a platform; returns the seconds until lake and source were equal."""

    def __call__(self, platform: Platform, *, first_order: int) -> float: ...


def _deck(writing: Writing) -> dict[str, Fault]:
    """All faults that a platform recovers from automatically, by name."""
    kills = {f"kill {' and '.join(pair)}": partial(killed, names=pair, writing=writing) for pair in PAIRS}
    stops = {f"stop {name} for {STOP_S:.0f} s": partial(stopped, groups=[[name]], writing=writing) for name in SERVICES}
    return {
        **kills,
        **stops,
        "kill all services": partial(killed, names=SERVICES, writing=writing),
        "kill the supervisor, too": partial(everything_killed, writing=writing),
    }


def main(
    minutes: Annotated[float, typer.Option(min=0, help="No new fault begins later than this.")] = 30,
    seed: Annotated[int, typer.Option(help="Of the order of the faults and of what is written.")] = 1,
    folder: Annotated[
        Path | None, typer.Option(help="Where the platform is; kept when a fault isn't got over.")
    ] = None,
) -> None:
    """Start a platform and inject faults; exit 1 at the first one that it doesn't recover from."""
    folder = folder or Path(tempfile.mkdtemp(prefix="faults-"))
    platform = Platform(folder, SUPERVISED)
    chance, deadline = random.Random(seed), time.monotonic() + 60 * minutes
    deck, order = _deck(Writing()), 1_000_000
    left: list[str] = []
    platform.up()
    while time.monotonic() < deadline:
        left = left or chance.sample(list(deck), len(deck))
        name = left.pop()
        order += 10_000
        try:
            seconds = deck[name](platform, first_order=order)
            # It works after each of them, and the supervisor resets its count.
            platform.up()
        except Exception as error:  # noqa: BLE001  (whatever it is, the run ends here and says at what)
            print(f"{name}: {type(error).__name__}: {error}; seed {seed}, the platform is left in {folder}", flush=True)
            sys.exit(1)
        print(f"{name}: equal after {seconds:.0f} s", flush=True)
    platform.remove()
