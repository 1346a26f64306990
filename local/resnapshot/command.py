"""Makes the lake match the source again: `./lake resnapshot`.

A table that the job loads is read again by the job (docs/decisions/0024), others by the connector.
"""

import contextlib
import time
from collections.abc import Iterator, Sequence

from db.source.replication import COMMAND
from local.comparison.command import REPORT, print_comparison, reconcile_tables
from local.comparison.compare import TableComparison
from local.comparison.platform_sides import platform_sides
from local.console import console, say
from local.errors import LockedError, PlatformError
from local.look.lake import LakeError
from local.platform.arriving import PATIENCE_S
from local.platform.job import asked, loading
from local.platform.pipeline import LocalPipeline
from local.platform.platform import Platform
from local.platform.services import LocalTable
from local.platform.startup import GRACE_S, SUPERVISOR
from local.problem import failing
from local.resnapshot.log_tables import Say
from local.resnapshot.pipelines import Channel
from local.resnapshot.run import Wanted, check_unnamed, check_whole, resnapshot
from local.services.kafka_rights import SOURCE
from settings.pipeline import CapturedTableSettings
from spark_jobs.options.keys import IGNORED

LOCK_S = 120
LOOK_S = 0.5
# Without these, nothing can be rewritten, or seen to arrive.
NEEDED = ("postgres", "kafka", "s3", "connect")


def resnapshot_pipeline(platform: Platform, tables: Sequence[str], wanted: Wanted) -> bool:
    """Rewrite the outbox, or read tables again; tell whether both sides are equal. Raises PlatformError, LoadError."""
    if platform.services.pipeline.outbox is None:
        return resnapshot_tables(platform, tables, wanted)
    check_unnamed(tables)
    comparison = resnapshot_platform(platform, wanted, say)
    print_comparison(console, comparison)
    return comparison.equal


def resnapshot_tables(platform: Platform, names: Sequence[str], wanted: Wanted) -> bool:
    """Read ordinary tables again, all or those named, then compare and repair. Raises PlatformError, LoadError."""
    if platform.services.pipeline.is_queried:
        raise PlatformError(
            f"pipeline {platform.options.pipeline} is queried: `./lake reconcile --repair` has its job read all rows"
            " again"
        )
    with contextlib.ExitStack() as flowing:
        with _locked(platform):
            loads = _stopped_loads(platform, wanted, names)
            made_again = _let_through(platform, wanted, names, say)
            sides, channel = platform_sides(platform, names), channel_of(platform, timeout_s=wanted.timeout_s, say=say)
            lakes = [table.lake for table in platform.services.tables]
            flowing.enter_context(channel.flowing(lakes, wanted, named=bool(names)))
            # Only now: a first load from before a new slot would lack what comes between.
            platform.pipeline.start_job()
        entries, aside = [table.entry for table in sides.tables], platform.pipeline.tables_aside()
        settle = channel.settlement(entries, wanted.where)
        left = [entry for entry in entries if entry.name not in aside and entry.name not in loads]
        _read_again(platform, channel, left, wanted, made_again=made_again)
    # After the others: the connector may have been given a new slot for them.
    if back := [entry for entry in entries if entry.name in aside]:
        platform.unfinished.begin([entry.name for entry in back])
        _take_back(platform, back, channel)
    equal = reconcile_tables(
        console,
        sides,
        timeout_s=wanted.timeout_s,
        pipeline=channel.pipeline,
        report=platform.state_dir / REPORT,
        repairs=channel.repair,
    )
    if equal:
        settle()
        if names or wanted.where is None:
            platform.unfinished.end([entry.name for entry in entries] if names else ())
    return equal


def _read_again(
    platform: Platform, channel: Channel, entries: Sequence[CapturedTableSettings], wanted: Wanted, *, made_again: bool
) -> None:
    """Have the connector or the job read tables again; `made_again`: a topic was."""
    # A condition, however, is the connector's, and a table without a key can't be read again.
    ways = {one.name: "connector" if wanted.where or one.append_only else one.first_load for one in entries}
    direct = [table for table in platform.services.tables if ways.get(table.name) == "direct"]
    if others := [entry for entry in entries if ways[entry.name] == "connector"]:
        channel.read_again(others, wanted.where, alone=not direct)
    if made_again:
        _look_at_all(platform)
    if direct:
        with _locked(platform):
            platform.pipeline.read_directly(direct)
        wait_until_read(platform.pipeline, direct, timeout_s=wanted.timeout_s, say=channel.say)


def wait_until_read(pipeline: LocalPipeline, tables: Sequence[LocalTable], *, timeout_s: float, say: Say) -> None:
    """Wait until the lake's tables have met their newest requests; `timeout_s`: how long nothing may move.

    Raises PlatformError with the reason when the job fails at one, and when nothing moves.
    """
    left, progress, failing_since = list(tables), list[str](), None
    moved = time.monotonic()
    while left := [table for table in left if not _has_met(pipeline, table)]:
        states, now = pipeline.table_states(), time.monotonic()
        found = [(table.name, states.get(table.job_name)) for table in left]
        if (lines := loading(found)) != progress:
            for line in lines:
                if line not in progress:
                    say(line)
            progress, moved = lines, now
        fails = [str(failing(name, state.detail or "")) for name, state in found if state and state.fails]
        failing_since = (failing_since or now) if fails else None
        if failing_since is not None and now - failing_since > PATIENCE_S:
            raise PlatformError(fails[0])
        if now - moved > timeout_s:
            names = ", ".join(table.name for table in left)
            raise PlatformError(f"{names}: the job's reading doesn't move for {timeout_s:.0f} s: `./lake status`")
        time.sleep(LOOK_S)


def _has_met(pipeline: LocalPipeline, table: LocalTable) -> bool:
    """Tell whether a table's newest commit names its newest request: another command's may have replaced ours."""
    with contextlib.suppress(LakeError):
        return table.lake.newest_of_job()[1].get(IGNORED) == asked(pipeline.job_folder).get(table.lake_name)
    return False


def channel_of(platform: Platform, *, timeout_s: float, say: Say) -> Channel:
    services, connectors = platform.services, platform.pipeline.connectors
    return Channel(
        pipeline=services.pipeline.name,
        settings=connectors.source,
        parameters=platform.source,
        connector=connectors.source_connector(),
        kafka=services.kafka.client(SOURCE),
        timeout_s=timeout_s,
        say=say,
    )


def _take_back(platform: Platform, entries: Sequence[CapturedTableSettings], channel: Channel) -> None:
    """Have set-aside tables captured again, or the sink's refused records skipped, and all their rows read."""
    with _locked(platform):
        back = platform.pipeline.take_back([entry.name for entry in entries])
    if back:
        say(f"captured and read again: {', '.join(back)}")
    if left := [entry for entry in entries if entry.name not in back]:
        # The sink's record is skipped, whether or not rows can be read again.
        channel.read_again(left, alone=False)


def resnapshot_platform(platform: Platform, wanted: Wanted, say: Say) -> TableComparison:
    """Re-snapshot a running platform, whose sink and job may be down. Raises PlatformError."""
    with _locked(platform):
        _check_runs(platform)
        _let_through(platform, wanted, (), say)
        platform.pipeline.start_job()
        found = resnapshot(platform_sides(platform), platform.pipeline.connectors.source_connector(), wanted, say)
    if found.equal:
        platform.unfinished.end()
    return found


def _check_runs(platform: Platform) -> None:
    platform.require(*NEEDED)
    if "job" not in platform.expected():
        raise PlatformError("this platform was started without the job, so nothing reaches the lake: run `./lake up`")


def _stopped_loads(platform: Platform, wanted: Wanted, names: Sequence[str]) -> list[str]:
    """Stop the job if it hasn't read the first rows of all tables; return those of them that nothing else can read.

    Raises PlatformError where no changes are lost: the job goes on by itself.
    """
    _check_runs(platform)
    first = [table for table in platform.services.chosen(names) if table.is_loaded_first]
    if not first:
        return []
    if not _has_lost_changes(platform, wanted):
        left = ", ".join(table.name for table in first)
        raise PlatformError(f"{left}: the job hasn't read all rows yet: `./lake status` says how it is")
    check_whole(wanted.where, named=bool(names))
    platform.processes.stop("job", grace_s=GRACE_S["job"])
    return [table.name for table in first if table.entry.append_only]


def _has_lost_changes(platform: Platform, wanted: Wanted) -> bool:
    pipeline = platform.pipeline
    reasons = (pipeline.lost_changes(), pipeline.connectors.failure(pipeline.connectors.source.name))
    return wanted.skip or any(COMMAND in (reason or "") for reason in reasons)


def _let_through(platform: Platform, wanted: Wanted, names: Sequence[str], say: Say) -> bool:
    """Clear the path from the topics to the lake; tell whether a topic was recreated: the former's objects go aside."""
    pipeline = platform.pipeline
    platform.processes.cancelled.clear()
    # A resnapshot of some tables doesn't remove the mark, so it sets none.
    if not names and wanted.where is None and _has_lost_changes(platform, wanted):
        platform.unfinished.begin()
    problem = pipeline.former_topic_problem()
    if problem:
        check_whole(wanted.where, named=bool(names))
        # Added tables are read, too.
        pipeline.connectors.source_connector().settle()
        say(f"found: {problem.partition(': run `')[0]}")
        say(f"{pipeline.set_landing_aside()} landed objects of the former topic set aside")
    if platform.services.pipeline.outbox is not None:
        if pipeline.tables_aside():
            platform.unfinished.begin()
        pipeline.take_back([table.name for table in pipeline.tables])
    if "sink" in platform.expected():
        pipeline.connectors.run_sink()
    else:
        platform.services.connect.api.resume(pipeline.connectors.sink.name)
    return problem is not None


def _look_at_all(platform: Platform) -> None:
    """Restart the job when all has landed: it lists the whole landing, where a recreated topic begins at 0."""
    platform.pipeline.wait_landed()
    with _locked(platform):
        platform.processes.stop("job", grace_s=GRACE_S["job"])
        platform.pipeline.start_job()


@contextlib.contextmanager
def _locked(platform: Platform) -> Iterator[None]:
    """Hold the platform's lock, waiting for a supervisor that is restarting something."""
    deadline = time.monotonic() + LOCK_S
    with contextlib.ExitStack() as stack:
        while True:
            try:
                stack.enter_context(platform.lock.held())
                break
            except LockedError as error:
                if error.holder != platform.pid(SUPERVISOR) or time.monotonic() > deadline:
                    raise
                time.sleep(LOOK_S)
        yield
