"""Rules for trust: in roles, in the policies of buckets, keys, topics and secrets, and in Lambda permissions.

And for analysts' access: read-only rights.
"""

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

from stacks.gate.grants import LAKE_FORMATION, QUICKSIGHT, ROLE, Grant, grants
from stacks.gate.template import Subject, as_list, written

# Services that act only for the principal that passed them the role, within one account: PassRole guards these roles.
# For QuickSight's run-as role, see its user guide, "Running queries as an IAM role": the role must be of QuickSight's
# account, and creating the source requires PassRole; the guide's trust policy has no condition.
TRUSTED = frozenset(
    f"{service}.amazonaws.com" for service in ("ec2", "eks", "lambda", "quicksight", "states", "vpc-flow-logs")
)
# These tag their sessions (EKS user guide, "Auto Mode cluster IAM role" and "Pod Identity role"). Associating a role
# with pods requires PassRole; stacks/gate/manifests.py checks which pods.
TAGGING = frozenset({"eks.amazonaws.com", "pods.eks.amazonaws.com"})
# Their principals other rules judge; an endpoint's policy only narrows rights that others grant.
_JUDGED_ELSEWHERE = ("AWS::EC2::VPCEndpoint", "AWS::EKS::", ROLE, LAKE_FORMATION, QUICKSIGHT)
_EVERYONE = re.compile(r"(AWS:)?\*|(Federated|CanonicalUser):.*")
# AWS's account that publishes the applications that rotate secrets.
ROTATION = re.compile(r":297356227824:applications/SecretsManagerRDSPostgreSQLRotation(Single|Multi)User$")
# AWS's own policies, whose rights no acceptance lists: each is for roles that one service alone may take.
_WORN_BY = {
    "AmazonEC2ContainerRegistryPullOnly": "ec2",
    "AmazonEKSWorkerNodeMinimalPolicy": "ec2",
    "AmazonEKS": "eks",
    "AmazonEMRServicePolicy_v2": "elasticmapreduce",
    "AWSLambdaBasicExecutionRole": "lambda",
}
# Conditions of what every bucket and topic may deny.
_PLAIN = ('{"Bool": {"aws:SecureTransport": "false"}}', '{"NumericLessThan": {"s3:TlsVersion": 1.2}}')
_READING = frozenset({"lakeformation:DESCRIBE", "lakeformation:SELECT"})
_KEEPING = _READING | {"lakeformation:ALL", "lakeformation:CREATE_TABLE"}


def trusted_by_role(subject: Subject) -> Iterator[str]:
    """Only AWS services may assume roles, and only for this account."""
    for grant in subject.grants:
        service = grant.principal.removeprefix("Service:")
        if grant.principal and service == grant.principal:
            yield f"{service} may take this role: only services may, which are handed it in this account"
        elif service and service not in TRUSTED | TAGGING and not _for_this_account(subject, grant):
            yield f"{grant.principal} may take this role for anyone: add a condition on aws:SourceAccount"


def managed_by_service(subject: Subject) -> Iterator[str]:
    """A policy of AWS's own is for roles that only its service may take."""
    trusted = {grant.principal for grant in subject.grants if grant.principal}
    for arn in as_list(subject.get("ManagedPolicyArns") or []):
        name = written(arn).rpartition("/")[2]
        service = next((of for beginning, of in _WORN_BY.items() if name.startswith(beginning)), "no service")
        if trusted != {f"Service:{service}.amazonaws.com"}:
            yield f"has {name}, which is for roles that {service} alone may take"


def policy_accepted(accepted: Collection[Grant], subject: Subject) -> Iterator[str]:
    """Resources may let in services for this account, keys the account itself, and others only what is accepted.

    Not even an acceptance lets in everyone or a federation.
    """
    for grant in subject.grants if not subject.type.startswith(_JUDGED_ELSEWHERE) else ():
        if _EVERYONE.fullmatch(grant.principal):
            yield f"{grant.principal} is let in by a policy: name who needs it"
        elif grant.principal and grant not in accepted and not _is_expected(subject, grant):
            yield (
                f"{grant}: nobody has accepted this: add a condition on aws:SourceAccount, or give the reason next to "
                "the statement (stacks/base.py)"
            )


def _is_expected(subject: Subject, grant: Grant) -> bool:
    """Whether it is a service's for this account, or AWS's default of a key: its account's roles' policies decide."""
    own = re.fullmatch(rf"AWS:arn:.*:iam::{subject.settings.account}:root", grant.principal)
    is_own_key = subject.type == "AWS::KMS::Key" and own
    return bool(is_own_key) or (grant.principal.startswith("Service:") and _for_this_account(subject, grant))


def denied_as_expected(subject: Subject) -> Iterator[str]:
    """A policy denies only requests without TLS, and a secret's deletion: others would lock out what keeps data."""
    for grant in grants(subject.stack, subject.id, subject.resource):
        if grant.effect == "Deny" and grant.condition not in _PLAIN and grant.action != "secretsmanager:DeleteSecret":
            yield f"denies {grant}: what needs this would stop"


def applications_of_amazon(subject: Subject) -> Iterator[str]:
    """The only nested application is AWS's that rotates PostgreSQL's secrets."""
    if not ROTATION.search(by_partition(subject, subject.get("Location.ApplicationId"))):
        yield "isn't AWS's application for rotating PostgreSQL's secrets"


def by_partition(subject: Subject, value: Any) -> str:
    """Return a value of a nested application as text; CDK names it by partition in a mapping."""
    match value:
        case {"Fn::FindInMap": [name, {"Ref": "AWS::Partition"}, key]}:
            return str(subject.app.templates[subject.stack]["Mappings"][name]["aws"][key])
    return written(value)


def _for_this_account(subject: Subject, grant: Grant) -> bool:
    for operator, keys in json.loads(grant.condition or "{}").items():
        if operator not in ("ArnEquals", "ArnLike", "StringEquals", "StringLike"):
            continue
        for key, values in keys.items():
            name = key.lower()
            if name == "aws:sourceaccount" and all(value == subject.settings.account for value in as_list(values)):
                return True
            ours = (subject.target(arn) or f":{subject.settings.account}:" in written(arn) for arn in as_list(values))
            if name == "aws:sourcearn" and all(ours):
                return True
    return False


def granted_to_readers(subject: Subject) -> Iterator[str]:
    """Lake Formation may grant reading, and keeping tables to roles that create them by IAM; nothing to hand on."""
    for grant in subject.grants:
        if grant.action not in _READING and not _keeps_tables(subject, grant):
            what = grant.action.partition(":")[2]
            yield f"grants {what}: only a role that makes tables may do more than read them, and nobody may grant it on"


def _keeps_tables(subject: Subject, grant: Grant) -> bool:
    role = subject.referred(subject.get("Principal.DataLakePrincipalIdentifier"))
    makes_tables = role and any(
        (each.stack, each.holder, each.action) == (role.stack, f"<{role.id}>", "glue:CreateTable")
        for policy in subject.app.resources("AWS::IAM::Policy", ROLE)
        for each in policy.grants
    )
    return bool(makes_tables) and grant.action in _KEEPING
