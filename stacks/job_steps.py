"""What each EMR step of an environment's streaming jobs runs, for all tables or for one.

Needs no CDK: the gate compares it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from contract import lake
from settings import aws_offers
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline, TableSizes
from settings.job import JobPace, JobPlaces, derived_jobs, table_job
from settings.pipeline import CapturedTableSettings
from spark_jobs.options import keys, submit
from spark_jobs.options.submit import TableJob

if TYPE_CHECKING:
    from stacks.processing.jobs import JobAssets

OF_MANY = "multi_table_streamer.py"


@dataclass(frozen=True, kw_only=True)
class Step:
    """An EMR step: its name, which only this environment uses, and its command."""

    name: str
    arguments: list[str]


class Jobs:
    """Creates the steps. A job for several tables has their properties in files, to keep its command short.

    EMR accepts 10,280 characters of arguments. `sources` maps the name of each pipeline whose job connects to its
    database to the properties for that. Host and secret are known only at deployment, so they are in the command, and
    each such pipeline has its own application, whose tables share their connections.
    """

    def __init__(
        self, environment: Environment, assets: "JobAssets", sources: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        self._environment = environment
        self._assets = assets
        self._sources = sources or {}
        self._common = {keys.METRICS_NAMESPACE: environment.prefix}

    def steps(self) -> list[Step]:
        """Return the steps. The shared step comes first; it also maintains derived tables."""
        pipelines = self._environment.pipelines
        sharing = [each for each in pipelines if each.job.one_step and not each.has_own_application]
        shared = [self._job(pipeline, table)[0] for pipeline in sharing for table in pipeline.captured.tables]
        for pipeline in pipelines:
            shared += [] if pipeline.has_own_application else self._made_of_others(pipeline)
        further = [self._connected_step(pipeline) for pipeline in pipelines if pipeline.has_own_application]
        apart = [each for each in pipelines if not each.job.one_step]
        further += [self._own_step(pipeline, table) for pipeline in apart for table in pipeline.captured.tables]
        if not shared:
            return further
        arguments = self._of_many("tables.properties", shared, {})
        return [self._step("tables", OF_MANY, TableSizes(), arguments), *further]

    def _job(self, pipeline: EnvironmentPipeline, table: CapturedTableSettings) -> tuple[TableJob, Mapping[str, str]]:
        """Return a table's job, and those of its properties that only a command can have."""
        captured, sizes = pipeline.as_deployed, pipeline.sizes(table)
        again = pipeline.job.read_again if table.first_load == "direct" else None
        configuration = {**sizes.configuration, **({keys.READ_AGAIN: again} if again else {})}
        pace = JobPace(sync_interval_seconds=sizes.sync_interval_seconds or 0, configuration=configuration)
        source = self._sources.get(pipeline.name, {})
        job = table_job(captured, table, replace(self._places(pipeline), source=source), pace)
        own = {key: value for key, value in job.configuration.items() if key not in source}
        connects = {key: value for key, value in job.configuration.items() if key in source}
        schema = self._assets.schema(captured.schema_file(table))
        return replace(job, schema_file=schema, configuration=own), connects

    def _made_of_others(self, pipeline: EnvironmentPipeline) -> list[TableJob]:
        pace = JobPace(configuration=pipeline.job.configuration)
        return derived_jobs(pipeline.as_deployed, self._places(pipeline), pace)

    def _places(self, pipeline: EnvironmentPipeline) -> JobPlaces:
        return JobPlaces(
            landing=f"s3://{self._environment.bucket_name('landing')}/{pipeline.landing_prefix}",
            lake=f"s3://{self._environment.bucket_name('lake')}",
            schemas="",
            shared_properties=self._assets.properties("lean.properties"),
            database=self._environment.lake.database,
        )

    def _own_step(self, pipeline: EnvironmentPipeline, table: CapturedTableSettings) -> Step:
        (job, connects), sizes = self._job(pipeline, table), pipeline.sizes(table)
        if pipeline.job_connects:
            # A query may have several lines, and be long.
            text = self._text(f"{job.table}.properties", submit.own_properties(job))
            job = replace(job, properties_file=text, configuration=connects)
        configuration = {**self._common, keys.STOP_FILE: lake.STOP_FILE, **job.configuration}
        arguments = [*submit.job_arguments(replace(job, configuration=configuration)), *_read_again(pipeline)]
        return self._step(job.table, "streamer.py", sizes, arguments, connects=pipeline.job_connects)

    def _connected_step(self, pipeline: EnvironmentPipeline) -> Step:
        """Run all tables of a pipeline; table names have no hyphen, so the step's name can't collide."""
        jobs = [self._job(pipeline, table)[0] for table in pipeline.captured.tables] + self._made_of_others(pipeline)
        source = self._sources.get(pipeline.name, {})
        arguments = self._of_many(f"{pipeline.name}-tables.properties", jobs, source, queried=pipeline.is_queried)
        arguments += _read_again(pipeline)
        return self._step(f"{pipeline.name}-tables", OF_MANY, pipeline.job, arguments, connects=True)

    def _of_many(
        self, name: str, jobs: list[TableJob], source: Mapping[str, str], *, queried: bool = False
    ) -> list[str]:
        """Write the tables' files and their list; return the options of the job that runs them all."""
        files = {job.name: self._text(f"{job.table}.properties", submit.table_properties(job)) for job in jobs}
        listed = self._text(name, submit.list_properties(files, self._common))
        return submit.multi_table_arguments(
            properties_file=listed,
            # Only for tables without file and path in the list, which gives both for each.
            config_folder=listed.rpartition("/")[0],
            base_path_prefix=f"s3://{self._environment.bucket_name('lake')}",
            configuration={keys.STOP_FILE: lake.STOP_FILE, **source},
            queried=queried,
        )

    def _text(self, name: str, text: str) -> str:
        return self._assets.text(f"{self._environment.name}/{name}", text)

    def _step(
        self, name: str, program: str, sizes: TableSizes, arguments: list[str], *, connects: bool = False
    ) -> Step:
        settings = self._environment.processing
        command = submit.yarn_command(
            arguments,
            application=self._assets.application(program),
            archive=self._assets.archive,
            log_settings=self._assets.properties("containers.log4j2.properties"),
            driver_memory=sizes.driver_memory or settings.driver_memory,
            executor_memory=sizes.executor_memory or settings.executor_memory,
            executors=sizes.executors or settings.executors,
            python=aws_offers.RELEASES[settings.release],
            more_jars=[self._assets.driver()] if connects else [],
        )
        return Step(name=f"{self._environment.prefix}-{name}", arguments=command)


def _read_again(pipeline: EnvironmentPipeline) -> list[str]:
    """Return the option that makes a job discard its progress, once per new text."""
    asked = pipeline.job.read_again if pipeline.is_queried else None
    return ["--ignore-checkpoint", asked] if asked else []
