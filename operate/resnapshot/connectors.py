"""Finds a pipeline's source connector, on MSK Connect or on EKS, for a re-snapshot."""

import boto3

from local.resnapshot.run import Connector
from operate import outputs
from operate.kubernetes import cluster_api
from operate.pausing import deployed
from operate.resnapshot.eks_connector import EksConnector
from operate.resnapshot.msk_connector import MskConnector
from settings.connectors import source_settings
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from stacks.pipeline_names import construct_id


def source_of(
    environment: Environment, pipeline: EnvironmentPipeline, session: boto3.Session, *, newest: int = 0
) -> Connector:
    """Return the connector; `newest` is the highest log position known to be read.

    Raises OperateError if it isn't deployed or is paused, and botocore's errors.
    """
    settings = source_settings(environment, pipeline)
    if environment.eks is None:
        arn = outputs.output(environment, "connectors", construct_id(pipeline, "SourceConnectorArn"))
        return MskConnector(session.client("kafkaconnect"), arn, slot=settings.slot_name, newest=newest)
    deployed.check_runs(session.client("cloudformation", config=outputs.QUICK), environment)
    return EksConnector(cluster_api(session, environment), settings.name, slot=settings.slot_name, newest=newest)
