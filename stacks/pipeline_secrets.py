"""A pipeline's secrets, with generated values: its role's login, and the salt of its hashed columns."""

import json
from collections.abc import Mapping
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_secretsmanager as secretsmanager

from contract.column_types.hashes import SALT_KEY
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from stacks.base import acknowledge, removal

SALT_CHARACTERS = 64
# By whether the pipeline is query-based.
_WHO_READS = {
    False: "A connector reads it when it starts: a rotation would stop the stream at its next reconnection. The role "
    "can read every table's changes, as who replicates can.",
    True: "The job reads it at each connection, and a rotation would have to change the role's password, too. The role "
    "may only read what its pipeline queries.",
}
_TOO = " The job reads it, too, for the first rows of tables."
_UNSALTED = "Another salt is another hash of every value: no row of the lake would compare with the source's again."


def connector_secret(stack: Stack, environment: Environment, pipeline: EnvironmentPipeline) -> secretsmanager.ISecret:
    """Create the secret, JSON with `username` and `password`, or return an external database's existing one."""
    id_, role = pipeline.construct_id("ConnectorSecret"), pipeline.connector_role
    if pipeline.database is not None:
        return secretsmanager.Secret.from_secret_complete_arn(stack, id_, pipeline.database.secret)
    return _generated(
        stack,
        id_,
        environment,
        f"The role {role} of {environment.prefix}'s source database",
        f"{_WHO_READS[pipeline.is_queried]}{_TOO if pipeline.loads_directly else ''} docs/decisions/0053 says how it is"
        " changed by hand.",
        {"username": role},
        generate_string_key="password",
    )


def hash_salt(stack: Stack, environment: Environment, pipeline: EnvironmentPipeline) -> secretsmanager.ISecret:
    """Create the secret, JSON with SALT_KEY, for the connector's worker and a job that reads first rows.

    It is kept as long as the lake's rows: another salt gives the same value another hash.
    """
    return _generated(
        stack,
        pipeline.construct_id("HashSalt"),
        environment,
        f"What goes before the hashed values of {environment.prefix}'s pipeline {pipeline.name}",
        _UNSALTED,
        {},
        generate_string_key=SALT_KEY,
        password_length=SALT_CHARACTERS,
    )


def _generated(
    stack: Stack,
    id_: str,
    environment: Environment,
    description: str,
    not_rotated: str,
    template: Mapping[str, str],
    **generator: Any,
) -> secretsmanager.Secret:
    generated = secretsmanager.SecretStringGenerator(
        secret_string_template=json.dumps(template), exclude_punctuation=True, **generator
    )
    policy = removal(environment)
    secret = secretsmanager.Secret(
        stack, id_, description=description, generate_secret_string=generated, removal_policy=policy
    )
    acknowledge(secret, "AwsSolutions-SMG4", reason=not_rotated)
    return secret
