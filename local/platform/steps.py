"""The steps of a start: which run in parallel, and which wait for others; and the order in which all is stopped."""

from collections.abc import Iterable
from concurrent.futures import Future
from functools import partial

from local.platform.connectors import SINK_GRACE_S
from local.platform.job import GRACE_S as JOB_GRACE_S
from local.platform.pipeline import LocalPipeline
from local.platform.services import Services
from local.platform.source import make_ready
from local.platform.startup import Startup
from local.services.processes import Processes, Service

SUPERVISOR = "supervisor"
# Seconds that each service has to end, in stopping order: first the supervisor, which restarts the others, then
# downstream before upstream, so that the last results of a service are still taken.
GRACE_S = {
    SUPERVISOR: 5,
    "job": JOB_GRACE_S,
    "sink": SINK_GRACE_S,
    "connect": 30,
    "kafka": 30,
    "s3": 10,
    "moto": 10,
    "postgres": 60,
}
STOP_ORDER = tuple(GRACE_S)


def run_steps(startup: Startup, services: Services, pipeline: LocalPipeline, processes: Processes) -> None:
    """Start everything, in parallel where one step doesn't need another.

    Failures of data steps stay isolated: services and job keep running.
    """

    def run(service: Service, *, after: Iterable[Future[None]] = ()) -> Future[None]:
        return startup.run(service.name, partial(processes.run, service), after=after)

    needed = [run(services.postgres)] if services.options.outside is None else []
    name = "load" if needed else "database"
    database = startup.run(name, partial(make_ready, services), after=needed, alone=True)
    storage = startup.run("buckets", pipeline.create_buckets, after=[run(services.s3)])
    catalogue = startup.run("catalogue", pipeline.fill_aws, after=[run(services.aws)])
    before_job, before_lake = [storage, catalogue], []
    if services.pipeline.is_queried:
        before_job.append(database)
    else:
        connectors = pipeline.connectors
        rights = startup.run("rights", connectors.grant_rights, after=[run(services.kafka)])
        topics = startup.run("topics", connectors.create_topics, after=[rights])
        connect = run(services.connect, after=[topics])
        snapshot = startup.run("source", pipeline.start_source, after=[database, topics, connect], alone=True)
        sink = startup.run("sink", connectors.start_sink, after=[topics, storage, connect])
        before_lake.append(startup.run("landing", pipeline.wait_landed, after=[snapshot, sink], alone=True))
    if services.options.job:
        before_lake.append(startup.run("job", pipeline.start_job, after=before_job))
        startup.run("lake", pipeline.wait_lake, after=before_lake, alone=True)
