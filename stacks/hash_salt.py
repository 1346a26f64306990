"""The salt of a pipeline's hashed columns: made by Secrets Manager, read by the connector's worker alone."""

import json

from aws_cdk import Stack
from aws_cdk import aws_secretsmanager as secretsmanager

from plugins.source.source_connector import SALT_KEY
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from stacks.acceptances import acknowledge
from stacks.pipeline_names import construct_id
from stacks.retention import removal

SALT_CHARACTERS = 64


def hash_salt(stack: Stack, environment: Environment, pipeline: EnvironmentPipeline) -> secretsmanager.Secret | None:
    """Make the secret, JSON with SALT_KEY; None for a pipeline that hashes nothing.

    It stays as long as the lake's rows do: with another salt the same value has another hash.
    """
    if not pipeline.hashes:
        return None
    secret = secretsmanager.Secret(
        stack,
        construct_id(pipeline, "HashSalt"),
        description=f"What goes before the hashed values of {environment.prefix}'s pipeline {pipeline.name}",
        generate_secret_string=secretsmanager.SecretStringGenerator(
            secret_string_template=json.dumps({}),
            generate_string_key=SALT_KEY,
            password_length=SALT_CHARACTERS,
            exclude_punctuation=True,
        ),
        removal_policy=removal(environment),
    )
    acknowledge(
        secret,
        "AwsSolutions-SMG4",
        reason="Another salt is another hash of every value: no row of the lake would compare with the source's again.",
    )
    return secret
