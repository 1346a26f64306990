"""Whom resources trust: role trust policies, the policies of buckets, keys, topics and secrets, Lambda permissions."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stacks.gate.rights import Accepted, Grant, grants, principals, statements
from stacks.gate.template import Subject, as_list, plain_text, written

# Services that act for whom the role was passed to them by, within one account: PassRole is what guards these roles.
# QuickSight's run-as role is one (its user guide, "Running queries as an IAM role": the role must be of the account
# that QuickSight is in, and who makes the source needs PassRole); the guide's trust has no condition.
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
# They name their sessions by tags (EKS user guide, "Auto Mode cluster IAM role" and "Pod Identity role"). Pods' role is
# handed over by whoever associates it, who needs PassRole; whose pods they must be, stacks/gate/kubernetes.py says.
TAGGING = frozenset({"eks.amazonaws.com", "pods.eks.amazonaws.com"})
# Accounts of AWS's own that templates name: where the applications that rotate secrets are published.
AWS_ACCOUNTS = frozenset({"297356227824"})
ROTATION = re.compile(r":297356227824:applications/SecretsManagerRDSPostgreSQLRotation(Single|Multi)User$")
_ACCOUNT = re.compile(r"arn:[^:\s]*:[^:\s]*:[^:\s]*:(\d{12}):")


def trusted_by_role(subject: Subject) -> Iterator[str]:
    """Roles are for AWS's services alone, and only for what they do in this account."""
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
    """Whether a statement is about taking the role and, where a service does that, tagging its sessions."""
    services = {name.removeprefix("Service:") for name in principals(statement)}
    allowed = {"sts:AssumeRole", *(["sts:TagSession"] if services <= TAGGING else [])}
    return set(as_list(statement.get("Action"))) <= allowed


def policy_accepted(accepted: Iterable[Accepted], subject: Subject) -> Iterator[str]:
    """A resource's policy lets in services for this account, the account's own on its keys, and who was accepted."""
    # An endpoint's policy only narrows what is allowed elsewhere.
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
    """What nobody can accept: everyone, or a federation, let in by a policy."""
    if subject.type == "AWS::EC2::VPCEndpoint":
        return
    for _, statement in statements(subject):
        for grant in grants(statement):
            if grant.principal in ("*", "AWS:*") or grant.principal.startswith(("Federated:", "CanonicalUser:")):
                yield f"{grant.principal} is let in by a policy: name who needs it"


def functions_called_by(subject: Subject) -> Iterator[str]:
    """Functions are called by services, for a resource of this account."""
    if subject.type != "AWS::Lambda::Permission":
        return
    principal = written(subject.get("Principal"))
    source = subject.get("SourceArn")
    if not principal.endswith(".amazonaws.com") or subject.get("FunctionUrlAuthType"):
        yield f"{principal} may call a function: only services may"
    elif subject.get("SourceAccount") != subject.facts.account and not (source and _is_ours(subject, source)):
        yield f"{principal} may call a function for anyone: add SourceArn or SourceAccount"


def other_accounts(subject: Subject) -> Iterator[str]:
    """Nothing names another account, but AWS's own."""
    for account in sorted(set(_ACCOUNT.findall(_flat(subject.properties)))):
        if account != subject.facts.account and account not in AWS_ACCOUNTS:
            yield f"names the account {account}, which isn't this environment's"


def code_of_ours(subject: Subject) -> Iterator[str]:
    """Functions run what was synthesized with the templates, and AWS's rotation of secrets."""
    assets = f"-assets-{subject.facts.account}-{subject.facts.region}"
    if subject.type == "AWS::Serverless::Application" and not ROTATION.search(_application(subject)):
        yield "isn't AWS's application for rotating PostgreSQL's secrets"
    for layer in subject.properties.get("Layers", []) if subject.type == "AWS::Lambda::Function" else []:
        if subject.target(layer) is None:
            yield f"runs a layer that isn't of this app: {written(layer)}"
    key = {"AWS::Lambda::Function": "Code", "AWS::Lambda::LayerVersion": "Content"}.get(subject.type)
    # CDK's provider of a singleton may be in the template itself.
    if key and not subject.get(f"{key}.ZipFile") and not plain_text(subject.get(f"{key}.S3Bucket")).endswith(assets):
        yield f"its code comes from {written(subject.get(key))}, not from CDK's bucket of this account"


def _application(subject: Subject) -> str:
    """The application that a template nests; CDK names it by partition in a mapping."""
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
    """AWS's default for keys: the account decides by its roles' policies, which are judged themselves."""
    root = f":iam::{subject.facts.account}:root"
    return subject.type == "AWS::KMS::Key" and grant.principal.startswith("AWS:arn:") and grant.principal.endswith(root)


def _flat(value: Any) -> str:
    """All of a value in one text, functions that join written out, so that an ARN made of parts is seen."""
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
