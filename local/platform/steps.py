"""The steps of a start: what runs side by side, and what waits for what."""

from collections.abc import Iterable
from concurrent.futures import Future

from local.platform.pipeline import LocalPipeline
from local.platform.services import Services
from local.platform.startup import Startup
from local.services.processes import Processes, Service


def run_steps(startup: Startup, services: Services, pipeline: LocalPipeline, processes: Processes) -> None:
    """Start everything side by side as far as one thing doesn't need another.

    What is about data fails alone: services and job run on.
    """

    def run(service: Service, *, after: Iterable[Future[None]] = ()) -> Future[None]:
        return startup.run(service.name, lambda: processes.run(service), after=after)

    if services.options.outside is None:
        postgres = run(services.postgres)
        database = startup.run("load", pipeline.load_source, after=[postgres], alone=True)
    else:
        database = startup.run("database", pipeline.load_source, alone=True)
    if services.pipeline.is_queried:
        _run_queried(startup, services, pipeline, processes, database)
        return
    kafka = run(services.kafka)
    rights = startup.run("rights", pipeline.grant_rights, after=[kafka])
    topics = startup.run("topics", pipeline.create_topics, after=[rights])
    connect = run(services.connect, after=[topics])
    s3 = run(services.s3)
    moto = run(services.aws)
    storage = startup.run("buckets", pipeline.create_buckets, after=[s3])
    catalogue = startup.run("catalogue", pipeline.fill_aws, after=[moto])
    snapshot = startup.run("source", pipeline.start_source, after=[database, topics, connect], alone=True)
    sink = startup.run("sink", pipeline.start_sink, after=[topics, storage, connect])
    landing = startup.run("landing", pipeline.wait_landed, after=[snapshot, sink], alone=True)
    if services.options.job:
        job = startup.run("job", pipeline.start_job, after=[storage, catalogue])
        startup.run("lake", pipeline.wait_lake, after=[landing, job], alone=True)


def _run_queried(
    startup: Startup, services: Services, pipeline: LocalPipeline, processes: Processes, database: Future[None]
) -> None:
    """Start what a pipeline by query takes: the storage, the catalogue and the job."""
    s3 = startup.run(services.s3.name, lambda: processes.run(services.s3))
    moto = startup.run(services.aws.name, lambda: processes.run(services.aws))
    storage = startup.run("buckets", pipeline.create_buckets, after=[s3])
    catalogue = startup.run("catalogue", pipeline.fill_aws, after=[moto])
    if services.options.job:
        job = startup.run("job", pipeline.start_job, after=[storage, catalogue, database])
        startup.run("lake", pipeline.wait_lake, after=[job], alone=True)
