"""The first stack of a deployment: a custom resource that refuses what `./lake aws deploy` refuses, before anything
changes. All other stacks depend on this one, so plain `cdk deploy` asks it, too (docs/decisions/0056)."""

from typing import Any

from aws_cdk import App

from settings.environment import Environment
from settings.rules.placeholders import refused
from stacks.base import EnvironmentStack, arn, statement
from stacks.paused import Paused
from stacks.provider import HandlerProvider


class GuardStack(EnvironmentStack):
    """`resumes`: this deployment may end a pause."""

    def __init__(self, scope: App, environment: Environment, paused: Paused, *, resumes: bool) -> None:
        super().__init__(scope, "guard", environment, paused)
        database = f"{environment.prefix}-database"
        request = {
            "name": environment.name,
            "refused": refused(environment),
            "paused": paused is not Paused.NOTHING,
            "resumes": resumes,
            "databaseStack": database,
            "origin": origin(environment),
        }
        looking = statement("cloudformation:GetTemplate", on=arn(self, "cloudformation", f"stack/{database}/*"))
        rights = {"It looks at the deployed cluster's origin.": [looking]}
        provider = HandlerProvider(self, "Guard", module="guard", rights=rights)
        provider.resource(self, "GuardedDeployment", "GuardedDeployment", request)


def origin(environment: Environment) -> dict[str, Any]:
    """Return what identifies the source cluster, as its template has it (stacks/database.py)."""
    found: dict[str, Any] = {"DBClusterIdentifier": environment.database_cluster}
    restore = environment.database.restore
    if restore is None:
        return found
    if restore.cluster is None:
        return found | {"SnapshotIdentifier": restore.snapshot}
    when = {"RestoreToTime": restore.time} if restore.time else {"UseLatestRestorableTime": True}
    return found | {"SourceDBClusterIdentifier": restore.cluster} | when
