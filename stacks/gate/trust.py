"""Rules for trust: in roles, in the policies of buckets, keys, topics and secrets, and in Lambda permissions."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stacks.gate.rights import Accepted, Grant, grants, principals, statements
from stacks.gate.template import Subject, as_list, plain_text, written

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
# with pods requires PassRole; stacks/gate/kubernetes.py checks which pods.
TAGGING = frozenset({"eks.amazonaws.com", "pods.eks.amazonaws.com"})
# AWS's own accounts that templates name: the publisher of the applications that rotate secrets.
AWS_ACCOUNTS = frozenset({"297356227824"})
ROTATION = re.compile(r":297356227824:applications/SecretsManagerRDSPostgreSQLRotation(Single|Multi)User$")
_ACCOUNT = re.compile(r"arn:[^:\s]*:[^:\s]*:[^:\s]*:(\d{12}):")


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
                    "beside the statement (stacks/acceptances.py)"
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
    """Only AWS's own accounts may be named besides this one."""
    for account in sorted(set(_ACCOUNT.findall(_flat(subject.properties)))):
        if account != subject.facts.account and account not in AWS_ACCOUNTS:
            yield f"names the account {account}, which isn't this environment's"


def code_of_ours(subject: Subject) -> Iterator[str]:
    """Functions may run only code synthesized with the templates, and AWS's application that rotates secrets."""
    assets = f"-assets-{subject.facts.account}-{subject.facts.region}"
    if subject.type == "AWS::Serverless::Application" and not ROTATION.search(_application(subject)):
        yield "isn't AWS's application for rotating PostgreSQL's secrets"
    for layer in subject.properties.get("Layers", []) if subject.type == "AWS::Lambda::Function" else []:
        if subject.target(layer) is None:
            yield f"runs a layer that isn't of this app: {written(layer)}"
    key = {"AWS::Lambda::Function": "Code", "AWS::Lambda::LayerVersion": "Content"}.get(subject.type)
    # The code of CDK's singleton provider may be inside the template.
    if key and not subject.get(f"{key}.ZipFile") and not plain_text(subject.get(f"{key}.S3Bucket")).endswith(assets):
        yield f"its code comes from {written(subject.get(key))}, not from CDK's bucket of this account"


def _application(subject: Subject) -> str:
    """Return the application that a template nests; CDK names it by partition in a mapping."""
    match subject.get("Location.ApplicationId"):
        case {"Fn::FindInMap": [name, {"Ref": "AWS::Partition"}, key]}:
            return str(subject.app.templates[subject.stack]["Mappings"][name]["aws"][key])
        case value:
            return written(value)


def _for_this_account(subject: Subject, statement: Mapping[str, Any]) -> bool:
    """Whether a condition keeps a service from acting for another account."""
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
