"""A pipeline's secrets, with generated values: its role's login, and the salt of its hashed columns."""

import json
from collections.abc import Mapping

from aws_cdk import Stack
from aws_cdk import aws_secretsmanager as secretsmanager

from plugins.source.source_connector import SALT_KEY
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from stacks.base import acknowledge, removal
from stacks.pipeline_names import construct_id

SALT_CHARACTERS = 64
# By whether the pipeline is query-based.
_WHO_READS = {
    False: "A connector reads it when it starts: a rotation would stop the stream at its next reconnection. The role "
    "can read every table's changes, as who replicates can.",
    True: "The job reads it at each connection, and a rotation would have to change the role's password, too. The role "
    "may only read what its pipeline queries.",
}
_UNSALTED = "Another salt is another hash of every value: no row of the lake would compare with the source's again."


def connector_secret(stack: Stack, environment: Environment, pipeline: EnvironmentPipeline) -> secretsmanager.ISecret:
    """Create the secret, JSON with `username` and `password`, or return an external database's existing one."""
    id_, role = construct_id(pipeline, "ConnectorSecret"), pipeline.connector_role
    if pipeline.database is not None:
        return secretsmanager.Secret.from_secret_complete_arn(stack, id_, pipeline.database.secret)
    return _generated(
        stack,
        id_,
        environment,
        f"The role {role} of {environment.prefix}'s source database",
        {"username": role},
        "password",
        not_rotated=f"{_WHO_READS[pipeline.is_queried]} docs/decisions/0053 says how it is changed by hand.",
    )


def hash_salt(stack: Stack, environment: Environment, pipeline: EnvironmentPipeline) -> secretsmanager.Secret | None:
    """Create the secret, JSON with SALT_KEY, which only the connector's worker reads; None if no column is hashed.

    It is kept as long as the lake's rows: another salt gives the same value another hash.
    """
    if not pipeline.hashes:
        return None
    return _generated(
        stack,
        construct_id(pipeline, "HashSalt"),
        environment,
        f"What goes before the hashed values of {environment.prefix}'s pipeline {pipeline.name}",
        {},
        SALT_KEY,
        characters=SALT_CHARACTERS,
        not_rotated=_UNSALTED,
    )


def _generated(
    stack: Stack,
    id_: str,
    environment: Environment,
    description: str,
    template: Mapping[str, str],
    key: str,
    *,
    not_rotated: str,
    characters: int | None = None,
) -> secretsmanager.Secret:
    """Have Secrets Manager generate a value of letters and digits under a key of `template`."""
    secret = secretsmanager.Secret(
        stack,
        id_,
        description=description,
        generate_secret_string=secretsmanager.SecretStringGenerator(
            secret_string_template=json.dumps(template),
            generate_string_key=key,
            password_length=characters,
            exclude_punctuation=True,
        ),
        removal_policy=removal(environment),
    )
    acknowledge(secret, "AwsSolutions-SMG4", reason=not_rotated)
    return secret
