"""Session Manager: the way into an instance for people with an IAM identity, without an open port."""

from aws_cdk import aws_iam as iam

from stacks.acceptances import acknowledge_wildcards

# What Session Manager's agent needs; none of these actions knows resources (Systems Manager user guide, "Add Session
# Manager permissions to an existing IAM role").
_AGENT = (
    "ssm:UpdateInstanceInformation",
    "ssmmessages:CreateControlChannel",
    "ssmmessages:CreateDataChannel",
    "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
)


def serve_sessions(role: iam.IRole) -> None:
    """Let the instances of a role serve Session Manager; who may start a session is a matter of people's own IAM."""
    statement = iam.PolicyStatement(actions=[*_AGENT], resources=["*"])
    role.add_to_principal_policy(statement)
    acknowledge_wildcards(
        role,
        statement,
        reason="Session Manager's agent: its actions know no resources. AWS's managed policy would add all of "
        "Parameter Store.",
    )
