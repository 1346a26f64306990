"""What breaks a platform in tests, and waiting for what `status` says of it."""

import contextlib
import shutil
import subprocess
from collections.abc import Iterator

import psutil

from local.platform.platform import Platform
from local.state.collect import Collector
from tests.waiting import PATIENCE_S, wait_until


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
