"""What breaks a platform in tests, and waiting for what `status` says of it."""

import contextlib
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import psutil

from db.source import replication
from local.look.json_lines import keys
from local.platform.platform import Platform
from local.state.collect import Collector
from tests.conftest import execute
from tests.waiting import PATIENCE_S, gone, wait_until


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
    assert all(map(gone, processes))


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


def drop_slot(platform: Platform) -> None:
    """Drop the pipeline's slot; a connector that tries again takes it as soon as it may."""
    wait_until(lambda: replication.drop_slot(platform.source, platform.pipeline.connectors.source.slot_name))


def outrun_slot(source: Mapping[str, Any]) -> None:
    """Write more log than a slot may keep; nothing may read it meanwhile."""
    execute(source, "ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'")
    execute(source, "SELECT pg_reload_conf()")
    for _ in range(3):
        execute(source, "SELECT pg_logical_emit_message(false, 'x', repeat('x', 1000000)), pg_switch_wal()")
    execute(source, "CHECKPOINT")
    execute(source, "ALTER SYSTEM RESET max_slot_wal_keep_size")
    execute(source, "SELECT pg_reload_conf()")


def outwrite_start(source: Mapping[str, Any]) -> None:
    """Write more log than the next start does: otherwise nothing shows that a restored server's log is another."""
    execute(source, "SELECT pg_logical_emit_message(false, 'x', repeat('y', 10000000))")


def delete_objects(platform: Platform, bucket: str, prefix: str) -> None:
    client = platform.services.s3.client()
    for key in keys(client, bucket, prefix):
        client.delete_object(Bucket=bucket, Key=key)


@contextlib.contextmanager
def restored(platform: Platform, service: str = "") -> Iterator[None]:
    """Copy the server's files, run the platform, and restore the copy; the platform is down at the end.

    `service`: the server's, where the rest of the platform keeps running.
    """
    data_dir = platform.services.postgres.cluster.data_dir
    copy = data_dir.with_name("backup")
    stop = partial(platform.processes.stop, service, grace_s=60) if service else platform.down
    stop()
    subprocess.run(["cp", "-a", data_dir, copy], check=True)
    if service:
        platform.revive(service)
    else:
        platform.up()
    yield
    stop()
    shutil.rmtree(data_dir)
    copy.rename(data_dir)
