"""Rules for trust: in roles, in the policies of buckets, keys, topics and secrets, and in Lambda permissions.

And for analysts' access: workgroups that clients can't change, read-only rights, dashboards of own data only.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from analytics import dashboard
from stacks.gate.rights import Accepted, Grant, grants, holders, principals, statements
from stacks.gate.template import Subject, as_list, written

# Services that act only for the principal that passed them the role, within one account: PassRole guards these roles.
# For QuickSight's run-as role, see its user guide, "Running queries as an IAM role": the role must be of QuickSight's
# account, and creating the source requires PassRole; the guide's trust policy has no condition.
TRUSTED = frozenset(
    {
        "ec2.amazonaws.com",
        "eks.amazonaws.com",
        "lambda.amazonaws.com",
        "quicksight.amazonaws.com",
        "states.amazonaws.com",
        "vpc-flow-logs.amazonaws.com",
    }
)
# These tag their sessions (EKS user guide, "Auto Mode cluster IAM role" and "Pod Identity role"). Associating a role
# with pods requires PassRole; stacks/gate/manifests.py checks which pods.
TAGGING = frozenset({"eks.amazonaws.com", "pods.eks.amazonaws.com"})
# AWS's own accounts that templates name: the publisher of the applications that rotate secrets.
AWS_ACCOUNTS = frozenset({"297356227824"})
ROTATION = re.compile(r":297356227824:applications/SecretsManagerRDSPostgreSQLRotation(Single|Multi)User$")
_ACCOUNT = re.compile(r"arn:[^:\s]*:[^:\s]*:[^:\s]*:(\d{12}):")
_READING = frozenset({"DESCRIBE", "SELECT"})
_KEEPING = _READING | {"ALL", "CREATE_TABLE"}
_QUICKSIGHT = "AWS::QuickSight::"


def trusted_by_role(subject: Subject) -> Iterator[str]:
    """Only AWS services may assume roles, and only for this account."""
    if subject.type != "AWS::IAM::Role":
        return
    for statement in as_list(subject.get("AssumeRolePolicyDocument.Statement") or []):
        if not _takes_the_role(statement):
            yield f"{statement.get('Action')}: a service needs sts:AssumeRole and nothing else"
        for principal in principals(statement):
            service = principal.removeprefix("Service:")
            if service == principal:
                yield f"{principal} may take this role: only services may, which are handed it in this account"
            elif service not in TRUSTED | TAGGING and not _for_this_account(subject, statement):
                yield f"{principal} may take this role for anyone: add a condition on aws:SourceAccount"


def _takes_the_role(statement: Mapping[str, Any]) -> bool:
    """Whether a statement only allows assuming the role and, for services that do so, tagging its sessions."""
    services = {name.removeprefix("Service:") for name in principals(statement)}
    allowed = {"sts:AssumeRole", *(["sts:TagSession"] if services <= TAGGING else [])}
    return set(as_list(statement.get("Action"))) <= allowed


def policy_accepted(accepted: Iterable[Accepted], subject: Subject) -> Iterator[str]:
    """Resource policies may admit services for this account, the account itself on its keys, and accepted grants."""
    # An endpoint's policy only narrows rights that others grant.
    if subject.type == "AWS::EC2::VPCEndpoint":
        return
    known = frozenset[Grant]().union(
        *(each.grants for each in accepted if (each.stack, each.holder) == (subject.stack, subject.id))
    )
    for key, statement in statements(subject):
        if key == "AssumeRolePolicyDocument":
            continue
        for grant in grants(statement):
            if not grant.principal or grant in known or _is_the_accounts_own(subject, grant):
                continue
            if grant.principal in ("*", "AWS:*"):
                yield f"{grant}: this is everyone"
            elif not (grant.principal.startswith("Service:") and _for_this_account(subject, statement)):
                yield (
                    f"{grant}: nobody has accepted this: add a condition on aws:SourceAccount, or give the reason "
                    "next to the statement (stacks/base.py)"
                )


def everyone_isnt_acceptable(subject: Subject) -> Iterator[str]:
    """Not even an acceptance lets a policy admit everyone or a federation."""
    if subject.type == "AWS::EC2::VPCEndpoint":
        return
    for _, statement in statements(subject):
        for grant in grants(statement):
            if grant.principal in ("*", "AWS:*") or grant.principal.startswith(("Federated:", "CanonicalUser:")):
                yield f"{grant.principal} is let in by a policy: name who needs it"


def functions_called_by(subject: Subject) -> Iterator[str]:
    """Only services may call functions, for a resource of this account."""
    if subject.type != "AWS::Lambda::Permission":
        return
    principal = written(subject.get("Principal"))
    source = subject.get("SourceArn")
    if not principal.endswith(".amazonaws.com") or subject.get("FunctionUrlAuthType"):
        yield f"{principal} may call a function: only services may"
    elif subject.get("SourceAccount") != subject.facts.account and not (source and _is_ours(subject, source)):
        yield f"{principal} may call a function for anyone: add SourceArn or SourceAccount"


def other_accounts(subject: Subject) -> Iterator[str]:
    """Only AWS's own accounts may be named apart from this one."""
    for account in sorted(set(_ACCOUNT.findall(_flat(subject.properties)))):
        if account != subject.facts.account and account not in AWS_ACCOUNTS:
            yield f"names the account {account}, which isn't this environment's"


def applications_of_amazon(subject: Subject) -> Iterator[str]:
    """The only nested application is AWS's that rotates PostgreSQL's secrets."""
    if subject.type == "AWS::Serverless::Application" and not ROTATION.search(
        by_partition(subject, subject.get("Location.ApplicationId"))
    ):
        yield "isn't AWS's application for rotating PostgreSQL's secrets"


def by_partition(subject: Subject, value: Any) -> str:
    """Return a value of a nested application as text; CDK names it by partition in a mapping."""
    match value:
        case {"Fn::FindInMap": [name, {"Ref": "AWS::Partition"}, key]}:
            return str(subject.app.templates[subject.stack]["Mappings"][name]["aws"][key])
    return written(value)


def _for_this_account(subject: Subject, statement: Mapping[str, Any]) -> bool:
    for operator, keys in (statement.get("Condition") or {}).items():
        if operator not in ("ArnEquals", "ArnLike", "StringEquals", "StringLike"):
            continue
        for key, values in keys.items():
            name = key.lower()
            if name == "aws:sourceaccount" and all(value == subject.facts.account for value in as_list(values)):
                return True
            if name == "aws:sourcearn" and all(_is_ours(subject, value) for value in as_list(values)):
                return True
    return False


def _is_ours(subject: Subject, arn: Any) -> bool:
    return subject.target(arn) is not None or f":{subject.facts.account}:" in written(arn)


def _is_the_accounts_own(subject: Subject, grant: Grant) -> bool:
    """AWS's default key policy: the account delegates to its roles' policies, which are checked themselves."""
    root = f":iam::{subject.facts.account}:root"
    return subject.type == "AWS::KMS::Key" and grant.principal.startswith("AWS:arn:") and grant.principal.endswith(root)


def _flat(value: Any) -> str:
    """Return a value as one text, with Fn::Join written out, so that assembled ARNs are seen."""
    parts = [json.dumps(value)]

    def joined(inner: Any) -> None:
        if isinstance(inner, Mapping):
            if "Fn::Join" in inner:
                parts.append(written(inner))
            for each in inner.values():
                joined(each)
        elif isinstance(inner, list):
            for each in inner:
                joined(each)

    joined(value)
    return "\n".join(parts)


def lake_formation_reads(subject: Subject) -> Iterator[str]:
    """Lake Formation may grant reading, and keeping tables to roles that create them by IAM; no grant options."""
    if subject.type != "AWS::LakeFormation::PrincipalPermissions":
        return
    principal = subject.get("Principal.DataLakePrincipalIdentifier")
    allowed = _KEEPING if _makes_tables(subject, subject.target(principal)) else _READING
    for permission in as_list(subject.get("Permissions") or []):
        if permission not in allowed:
            yield f"grants {permission}: only a role that makes tables may do more than read them"
    if subject.get("PermissionsWithGrantOption"):
        yield "lets readers grant what they have to others: PermissionsWithGrantOption must be empty"
    if subject.target(principal) is None and f":iam::{subject.facts.account}:" not in written(principal):
        yield f"grants to {written(principal)}, which isn't a role or user of this account"


def _makes_tables(subject: Subject, role: tuple[str, str] | None) -> bool:
    policies = subject.app.resources("AWS::IAM::Policy", "AWS::IAM::Role") if role else ()
    return any(
        grant.action == "glue:CreateTable"
        for policy in policies
        if role in {(policy.stack, holder) for holder in holders(policy)}
        for _, statement in statements(policy)
        for grant in grants(statement)
    )


def shows_own_data(subject: Subject) -> Iterator[str]:
    """Analyses and dashboards may show only data sets of this app."""
    if not subject.type.startswith(_QUICKSIGHT) or not subject.get("Definition"):
        return
    own = {(found.stack, found.id) for found in subject.app.resources(f"{_QUICKSIGHT}DataSet")}
    for declared in subject.get("Definition.DataSetIdentifierDeclarations") or []:
        if subject.target(declared.get("DataSetArn")) not in own:
            yield f"shows {written(declared.get('DataSetArn'))}: it must be a data set of this app"


def shown_to_people(subject: Subject) -> Iterator[str]:
    """QuickSight resources may be shared only with this account's QuickSight users and groups, by known actions."""
    if not subject.type.startswith(_QUICKSIGHT) or subject.type.endswith("RefreshSchedule"):
        return
    kind = subject.type.removeprefix(_QUICKSIGHT)
    yield from dashboard.problems(kind, subject.get("Permissions") or [], subject.facts.account)
    if subject.get("LinkSharingConfiguration"):
        yield "is shared by link: name who sees it"
