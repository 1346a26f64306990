"""An environment's tables in the lake, read with the caller's credentials."""

import boto3

from local.look.lake import Lake
from operate import outputs
from operate.errors import OperateError
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from settings.pipeline import CapturedTableSettings


def lake_table(
    environment: Environment, session: boto3.Session, pipeline: EnvironmentPipeline, table: CapturedTableSettings
) -> Lake:
    """Return where the lake has a table, and how to read it. Raises OperateError."""
    bucket = outputs.output(environment, "lake", "LakeBucket")
    credentials = session.get_credentials()
    if credentials is None:
        raise OperateError(f"no AWS credentials for account {environment.account}: {outputs.LOG_IN}")
    frozen = credentials.get_frozen_credentials()
    options = {
        "aws_region": environment.region,
        "aws_access_key_id": frozen.access_key or "",
        "aws_secret_access_key": frozen.secret_key or "",
    }
    if frozen.token:
        options["aws_session_token"] = frozen.token
    return Lake(base_uri=f"s3://{bucket}/{pipeline.captured.lake_table(table)}", storage_options=options)
