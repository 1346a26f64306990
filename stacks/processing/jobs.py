"""The streaming jobs of an environment: what each step of EMR runs, for all tables at once or for each by itself."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from contract import stop_file
from settings import emr_offers
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from settings.job import JobPace, JobPlaces, derived_job, table_job
from settings.pipeline import CapturedTableSettings, DerivedTableSettings
from spark_jobs import keys, submit
from spark_jobs.submit import TableJob, YarnSubmission
from stacks.processing.job_assets import JobAssets


@dataclass(frozen=True, kw_only=True)
class Step:
    """A step of EMR: its name, which is the environment's alone, and its command."""

    name: str
    arguments: list[str]


class Jobs:
    """Makes the steps. What keeps several tables has their properties in files, since a command can't be as long.

    EMR takes 10,280 characters of arguments.
    """

    def __init__(self, environment: Environment, assets: JobAssets) -> None:
        self._environment = environment
        self._assets = assets
        self._common = {keys.METRICS_NAMESPACE: environment.prefix}

    def steps(self) -> list[Step]:
        """Return the steps, that of all tables that share one first; derived tables do."""
        shared = [self._job(pipeline, table) for pipeline, table in self._tables(one_step=True)]
        for pipeline in self._environment.pipelines:
            shared += [self._derived(pipeline, table) for table in pipeline.captured.derived]
        own = [self._own_step(pipeline, table) for pipeline, table in self._tables(one_step=False)]
        return [*([self._shared_step(shared)] if shared else []), *own]

    def _tables(self, *, one_step: bool) -> Iterator[tuple[EnvironmentPipeline, CapturedTableSettings]]:
        for pipeline in self._environment.pipelines:
            if pipeline.job.one_step == one_step:
                for table in pipeline.captured.tables:
                    yield pipeline, table

    def _job(self, pipeline: EnvironmentPipeline, table: CapturedTableSettings) -> TableJob:
        captured, sizes = pipeline.as_deployed, pipeline.sizes(table)
        pace = JobPace(sync_interval_seconds=sizes.sync_interval_seconds or 0, configuration=sizes.configuration)
        job = table_job(captured, table, self._places(pipeline), pace)
        return replace(job, schema_file=self._assets.schema(captured.schema_file(table)))

    def _derived(self, pipeline: EnvironmentPipeline, table: DerivedTableSettings) -> TableJob:
        pace = JobPace(configuration=pipeline.job.configuration)
        return derived_job(pipeline.as_deployed, table, self._places(pipeline), pace)

    def _places(self, pipeline: EnvironmentPipeline) -> JobPlaces:
        return JobPlaces(
            landing=f"s3://{self._environment.bucket_name('landing')}/{pipeline.landing_prefix}",
            lake=f"s3://{self._environment.bucket_name('lake')}",
            schemas="",
            shared_properties=self._assets.properties("lean.properties"),
            database=self._environment.lake.database,
        )

    def _own_step(self, pipeline: EnvironmentPipeline, table: CapturedTableSettings) -> Step:
        job, sizes = self._job(pipeline, table), pipeline.sizes(table)
        configuration = {**self._common, keys.STOP_FILE: stop_file.TOKEN, **job.configuration}
        submission = self._submission(
            self._assets.application("streamer.py"), sizes.driver_memory, sizes.executor_memory, sizes.executors
        )
        arguments = submit.job_arguments(replace(job, configuration=configuration))
        return Step(
            name=f"{self._environment.prefix}-{job.table}", arguments=submit.yarn_command(submission, arguments)
        )

    def _shared_step(self, jobs: list[TableJob]) -> Step:
        files = {job.name: self._text(f"{job.table}.properties", submit.table_properties(job)) for job in jobs}
        listed = self._text("tables.properties", submit.list_properties(files, self._common))
        arguments = submit.multi_table_arguments(
            properties_file=listed,
            # For tables that the list gives no file and no path; it gives both to each.
            config_folder=listed.rpartition("/")[0],
            base_path_prefix=f"s3://{self._environment.bucket_name('lake')}",
            configuration={keys.STOP_FILE: stop_file.TOKEN},
        )
        submission = self._submission(self._assets.application("multi_table_streamer.py"), None, None, None)
        return Step(name=f"{self._environment.prefix}-tables", arguments=submit.yarn_command(submission, arguments))

    def _text(self, name: str, text: str) -> str:
        return self._assets.text(f"{self._environment.name}/{name}", text)

    def _submission(
        self, application: str, driver: str | None, executor: str | None, executors: int | None
    ) -> YarnSubmission:
        settings = self._environment.processing
        return YarnSubmission(
            application=application,
            archive=self._assets.archive,
            driver_memory=driver or settings.driver_memory,
            executor_memory=executor or settings.executor_memory,
            executors=executors or settings.executors,
            python=emr_offers.RELEASES[settings.release].python,
        )
