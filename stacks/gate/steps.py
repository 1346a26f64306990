"""The commands of EMR's steps must be the job's, as the settings make them: with these options, and no others."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from contract.lake import STOP_FILE
from settings.aws_offers import RELEASES
from settings.connectors import root_certificate
from settings.environment import Environment
from settings.environment_pipeline import POSTGRESQL, EnvironmentPipeline, TableSizes
from settings.job import JobPace, JobPlaces, server, table_job
from settings.pipeline import CapturedTableSettings
from spark_jobs.options import keys
from spark_jobs.options.submit import TableJob, YarnSubmission, job_arguments, multi_table_arguments, yarn_command
from stacks.gate.properties import REFERENCE_IN_TEXT, REFERRED
from stacks.gate.template import App, Problem

_STOP = {keys.STOP_FILE: STOP_FILE}


def steps_ours(app: App) -> Iterator[Problem]:
    """An EMR step must be the job's command, with files of CDK's bucket, on this app's buckets alone."""
    settings = app.facts.settings
    assets = f"s3://cdk-hnb659fds-assets-{settings.account}-{settings.region}"
    file = re.compile(rf"{assets}/[0-9a-f]{{64}}[.]\w+")
    commands, options, number = set(_commands(settings)), set(_options(settings, assets)), 0
    for subject in app.resources("Custom::EmrStep"):
        request = subject.opened["Request"]
        number += 1 + len(request.get("further", []))
        for step in (request, *request.get("further", [])):
            words = [REFERENCE_IN_TEXT.sub(REFERRED, file.sub(REFERRED, word)) for word in step["arguments"]]
            rest = {tuple(words[len(each) :]) for each in commands if tuple(words[: len(each)]) == each}
            if not rest & options:
                what = "options aren't" if rest else "command isn't"
                yield subject.stack, subject.id, f"{step['name']}: its {what} the job's, as the settings make it"
    if number != (wanted := _number(settings)):
        yield f"{settings.prefix}-processing", "-", f"there must be {wanted} steps of EMR, and there are {number}"


def _number(settings: Environment) -> int:
    """Count an application of each pipeline that connects, or one per table, and one for all others."""
    apart = [each for each in settings.pipelines if not each.has_own_application]
    shared = any(each.job.one_step or each.captured.derived or each.captured.with_history for each in apart)
    tables = sum(len(each.captured.tables) for each in apart if not each.job.one_step)
    return shared + tables + len(settings.pipelines) - len(apart)


def _commands(settings: Environment) -> Iterator[tuple[str, ...]]:
    """Yield the beginning of each command that a step may have: spark-submit with its options, and the program."""
    processing = settings.processing
    sizes = [TableSizes(), *(pipeline.job for pipeline in settings.pipelines)]
    sizes += [pipeline.sizes(table) for pipeline in settings.pipelines for table in pipeline.captured.tables]
    for each in sizes:
        submission = YarnSubmission(
            application=REFERRED,
            archive=REFERRED,
            log_settings=REFERRED,
            driver_memory=each.driver_memory or processing.driver_memory,
            executor_memory=each.executor_memory or processing.executor_memory,
            executors=each.executors or processing.executors,
            python=RELEASES[processing.release].python,
        )
        yield tuple(yarn_command(submission, []))
        yield tuple(yarn_command(replace(submission, jars=(*submission.jars, REFERRED)), []))


def _options(settings: Environment, assets: str) -> Iterator[tuple[str, ...]]:
    """Yield what may follow a program: what it reads and writes, and as whom."""
    yield _of_many(settings, assets, {})
    for pipeline in settings.pipelines:
        source = _server(settings, pipeline) if pipeline.job_connects else {}
        asked = pipeline.job.read_again if pipeline.is_queried else None
        again = ["--ignore-checkpoint", asked] if asked else []
        yield (*_of_many(settings, assets, source, queried=pipeline.is_queried), *again)
        for table in pipeline.captured.tables:
            yield (*job_arguments(_job(settings, pipeline, table, source)), *again)


def _of_many(
    settings: Environment, assets: str, source: Mapping[str, str], *, queried: bool = False
) -> tuple[str, ...]:
    lake = f"s3://{settings.bucket_name('lake')}"
    options = multi_table_arguments(
        properties_file=REFERRED,
        config_folder=assets,
        base_path_prefix=lake,
        configuration={**_STOP, **source},
        queried=queried,
    )
    return tuple(options)


def _job(
    settings: Environment, pipeline: EnvironmentPipeline, table: CapturedTableSettings, source: Mapping[str, str]
) -> TableJob:
    places = JobPlaces(
        landing=f"s3://{settings.bucket_name('landing')}/{pipeline.landing_prefix}",
        lake=f"s3://{settings.bucket_name('lake')}",
        schemas="",
        shared_properties=REFERRED,
        database=settings.lake.database,
        source=source,
    )
    sizes, asked = pipeline.sizes(table), pipeline.job.read_again
    more = {keys.READ_AGAIN: asked} if asked and table.first_load == "direct" else {}
    pace = JobPace(
        sync_interval_seconds=sizes.sync_interval_seconds or 0, configuration={**sizes.configuration, **more}
    )
    job = table_job(pipeline.as_deployed, table, places, pace)
    # What a job that connects reads is in its file; only deployed values are in its command.
    own = {key: value for key, value in job.configuration.items() if key in source} if source else job.configuration
    common = {keys.METRICS_NAMESPACE: settings.prefix, **_STOP}
    return replace(job, schema_file=REFERRED, configuration={**common, **own})


def _server(settings: Environment, pipeline: EnvironmentPipeline) -> Mapping[str, str]:
    outside, authority = pipeline.database, root_certificate(settings, pipeline)
    salt = {keys.FIRST_LOAD_SALT_SECRET: REFERRED} if pipeline.hashes_directly else {}
    login = server(
        host=outside.host if outside else REFERRED,
        port=outside.port if outside else POSTGRESQL,
        database=pipeline.database_name,
        password={keys.JDBC_PASSWORD_SECRET: outside.secret if outside else REFERRED},
        sslmode=None if authority else "require",
        authority=REFERRED if authority else None,
    )
    return {**salt, **login}
