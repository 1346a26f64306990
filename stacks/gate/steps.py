"""The commands of EMR's steps must be the job's, as the settings make them: with these options, and no others."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

from settings.connectors import root_certificate
from settings.environment import Environment
from settings.environment_pipeline import POSTGRESQL, EnvironmentPipeline
from settings.job import server
from spark_jobs.options import keys
from stacks.gate.properties import REFERENCE_IN_TEXT, REFERRED
from stacks.gate.template import App, Problem
from stacks.job_steps import Jobs

if TYPE_CHECKING:
    from stacks.processing.jobs import JobAssets


class _Files:
    """Stands in for the job's assets, in CDK's bucket."""

    def __init__(self, bucket: str) -> None:
        self.archive = f"{bucket}/{'0' * 64}.x"

    def application(self, *_: str) -> str:
        return self.archive

    schema = properties = text = driver = application


def steps_ours(app: App) -> Iterator[Problem]:
    """An EMR step must be the job's command, with files of CDK's bucket, on this app's buckets alone."""
    settings = app.settings
    assets = f"s3://cdk-hnb659fds-assets-{settings.account}-{settings.region}"
    file = re.compile(rf"{assets}/[0-9a-f]{{64}}[.]\w+")

    def without_files(words: list[str]) -> list[str]:
        return [REFERENCE_IN_TEXT.sub(REFERRED, file.sub(REFERRED, word)) for word in words]

    sources = {each.name: _server(settings, each) for each in settings.job_connects}
    steps = Jobs(settings, cast("JobAssets", _Files(assets)), sources).steps()
    planned = {step.name: without_files(step.arguments) for step in steps}
    for subject in app.resources("Custom::EmrStep"):
        request = subject.opened["Request"]
        for step in (request, *request.get("further", [])):
            if without_files(step["arguments"]) != planned.pop(step["name"], None):
                yield subject.stack, subject.id, f"{step['name']}: its command isn't the job's, as the settings make it"
    for name in planned:
        yield f"{settings.prefix}-processing", "-", f"the step {name} is missing"


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
