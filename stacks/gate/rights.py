"""Rules for rights: each must be ordinary, or accepted with a reason.

A statement is split into grants, one per principal, action and resource, each with the statement's condition; CDK's
merging of statements changes none of them. An acceptance covers exactly one grant of one role (stacks/base.py
records it next to the statement); it covers no other action, resource or condition of that role.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from stacks.gate.template import Subject, as_list, written

# Needs no acceptance on named resources: moving and describing data, but not opening it to others.
_ORDINARY = {
    "athena": ("BatchGet*", "Get*", "List*", "StartQueryExecution", "StopQueryExecution"),
    "elasticmapreduce": ("AddJobFlowSteps", "CancelSteps", "Describe*", "List*"),
    "glue": ("*Database*", "*Partition*", "*Table*", "GetUserDefinedFunctions"),
    "kafka": ("Describe*", "Get*", "List*"),
    "kafka-cluster": ("*",),
    "kafkaconnect": ("*",),
    "lambda": ("GetFunction", "InvokeFunction"),
    "logs": ("CreateLogStream", "Describe*", "GetLogEvents", "PutLogEvents"),
    "rds": ("Describe*",),
    "s3": (
        "AbortMultipartUpload",
        "DeleteObject",
        "DeleteObjectVersion",
        "GetBucketLocation",
        "GetObject",
        "GetObjectVersion",
        "ListBucket",
        "ListBucketMultipartUploads",
        "ListBucketVersions",
        "ListMultipartUploadParts",
        "PutObject",
    ),
    "states": ("StartExecution",),
}
ORDINARY = tuple(f"{service}:{action}".lower() for service, actions in _ORDINARY.items() for action in actions)
# Services that give access to others' rights, secrets or code: never on every resource, even if accepted.
POWERFUL = frozenset(
    {
        "cloudformation",
        "ec2-instance-connect",
        "iam",
        "kms",
        "lambda",
        "lakeformation",
        "organizations",
        "ram",
        "rds-data",
        "rds-db",
        "secretsmanager",
        "sso",
        "sts",
    }
)
# These actions support resources, but theirs can't be named: network interfaces not yet created (Lambda and MSK Connect
# in a VPC, AWSLambdaVPCAccessExecutionRole), the instance that an agent runs on (AmazonSSMManagedInstanceCore),
# metrics, which have no ARN (CloudWatch user guide, "permissions reference": `*` as the resource value), Lake
# Formation's grants (its developer guide, "Lake Formation permissions reference": `*`).
WITHOUT_A_NAME = frozenset(
    {
        "cloudwatch:getmetricdata",
        "ec2:createnetworkinterface",
        "ec2:deletenetworkinterface",
        "lakeformation:getdataaccess",
        "ssm:updateinstanceinformation",
    }
)
MANAGED_POLICIES = (
    # EKS's own, for a cluster in Auto Mode and its nodes.
    "::aws:policy/AmazonEC2ContainerRegistryPullOnly",
    "::aws:policy/AmazonEKSBlockStoragePolicy",
    "::aws:policy/AmazonEKSClusterPolicy",
    "::aws:policy/AmazonEKSComputePolicy",
    "::aws:policy/AmazonEKSLoadBalancingPolicy",
    "::aws:policy/AmazonEKSNetworkingPolicy",
    "::aws:policy/AmazonEKSWorkerNodeMinimalPolicy",
    "::aws:policy/service-role/AWSLambdaBasicExecutionRole",
    "::aws:policy/service-role/AmazonEMRServicePolicy_v2",
)
# A reference to a resource; AWS's own values say only where.
_OWN = re.compile(r"<(?!AWS::)[^<>]+>")
_WILDCARDS = re.compile(r"[*?]")
_KAFKA_WIDE = re.compile(r":(topic|group|transactional-id)/[^/]*/[^/]*/\*$")


class Grant(NamedTuple):
    """One right; `principal` is empty in a role's own policy; `condition` is JSON, or empty."""

    principal: str
    action: str
    resource: str
    condition: str

    def __str__(self) -> str:
        who = f"{self.principal}: " if self.principal else ""
        return f"{who}{self.action} on {self.resource}{f' if {self.condition}' if self.condition else ''}"


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """An accepted statement: `holder` is the logical id of the role or of the resource with the policy."""

    stack: str
    holder: str
    grants: frozenset[Grant]
    reason: str


def accepted_statement(stack: str, noted: Mapping[str, Any]) -> Accepted:
    """Read a statement that stacks/base.py noted in the metadata."""
    return Accepted(
        stack=stack,
        holder=noted["holder"]["Ref"],
        grants=frozenset(filter(needs_acceptance, grants(noted["statement"]))),
        reason=noted["reason"],
    )


def grants(statement: Mapping[str, Any]) -> Iterator[Grant]:
    """Split an allowing statement into grants."""
    if statement.get("Effect", "Allow") != "Allow":
        return
    condition = json.dumps(statement["Condition"], sort_keys=True) if statement.get("Condition") else ""
    for principal in principals(statement):
        for action in as_list(statement.get("Action", [])):
            for resource in as_list(statement.get("Resource", [""])):
                yield Grant(principal, written(action), written(resource), condition)


def together(several: Iterable[Grant]) -> list[Grant]:
    """Merge grants that differ only in their actions, for people to read."""
    actions: dict[Grant, list[str]] = {}
    for grant in several:
        actions.setdefault(grant._replace(action=""), []).append(grant.action)
    return [grant._replace(action=", ".join(sorted(names))) for grant, names in actions.items()]


def principals(statement: Mapping[str, Any]) -> list[str]:
    """Return a statement's principals: `Service:x`, `AWS:<arn>`, `*`; in a role's own policy ""."""
    match statement.get("Principal", ""):
        case str(name):
            return [name]
        case kinds:
            return [f"{kind}:{written(name)}" for kind, names in kinds.items() for name in as_list(names)]


def statements(subject: Subject) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each statement of a resource's policies, with the property's name."""
    yield from subject.statements


def needs_acceptance(grant: Grant) -> bool:
    action = grant.action.lower()
    if grant.principal:
        return True
    if _WILDCARDS.search(grant.action) or _WILDCARDS.search(grant.resource):
        return True
    return not any(fnmatchcase(action, pattern) for pattern in ORDINARY)


def holders(subject: Subject) -> Iterator[str]:
    """Yield the logical ids of the roles whose rights a resource states."""
    # A managed policy for people holds its own acceptances: templates don't show who has it.
    if subject.type in ("AWS::IAM::Role", "AWS::IAM::ManagedPolicy"):
        yield subject.id
    for role in subject.properties.get("Roles", []):
        target = subject.target(role)
        yield target[1] if target else written(role)


def rights_accepted(accepted: Iterable[Accepted], subject: Subject) -> Iterator[str]:
    """A role's rights must be ordinary ones on named resources, or accepted."""
    if subject.type not in ("AWS::IAM::ManagedPolicy", "AWS::IAM::Policy", "AWS::IAM::Role"):
        return
    own = [each for each in accepted if each.stack == subject.stack]
    for holder in holders(subject):
        known = frozenset[Grant]().union(*(each.grants for each in own if each.holder == holder))
        for key, statement in statements(subject):
            if key == "AssumeRolePolicyDocument":
                continue
            unknown = [grant for grant in grants(statement) if needs_acceptance(grant) and grant not in known]
            for grant in together(unknown):
                yield (
                    f"{holder}: {grant}: nobody has accepted this: narrow it, or give the reason next to the statement "
                    "(stacks/base.py)"
                )


def ordinary_on_ours(subject: Subject) -> Iterator[str]:
    """What needs no acceptance must be of resources of this app."""
    if subject.type not in ("AWS::IAM::ManagedPolicy", "AWS::IAM::Policy", "AWS::IAM::Role"):
        return
    facts = subject.facts
    ours = (
        facts.settings.prefix,
        f"/{facts.settings.lake.database}",
        f"-assets-{facts.account}-{facts.region}/",
        # Spark and Hive look into these of each catalog; the catalog itself is in all of Glue's requests.
        f":{facts.account}:catalog",
        ":datacatalog/AwsDataCatalog",
        ":database/default",
        ":database/global_temp",
    )
    for key, statement in statements(subject):
        for grant in grants(statement) if key != "AssumeRolePolicyDocument" else ():
            known = _OWN.search(grant.resource) or any(each in grant.resource for each in ours)
            if not needs_acceptance(grant) and not known:
                yield f"{grant}: this isn't a resource of this app"


def no_administrators(subject: Subject) -> Iterator[str]:
    """Not even an acceptance allows every action, all actions but some, or a powerful right on every resource."""
    for key, statement in statements(subject):
        if statement.get("Effect", "Allow") != "Allow":
            continue
        for word in ("NotAction", "NotResource", "NotPrincipal"):
            if word in statement:
                yield f"{word} allows everything but something: name what is allowed"
        if key == "AssumeRolePolicyDocument" or "Principal" in statement:
            continue
        for grant in grants(statement):
            if re.fullmatch(r"\*|[^:]*:\*", grant.action) or "*" in grant.action.partition(":")[0]:
                yield f"{grant}: a statement allows every action: name the actions"
            elif is_wide(grant.resource) and not grant.condition and _is_powerful(grant.action):
                yield f"{grant}: this action knows resources: name them"


def managed_policies_known(subject: Subject) -> Iterator[str]:
    """Roles may have our own policies and a few of AWS's."""
    for policy in subject.properties.get("ManagedPolicyArns", []):
        if not written(policy).rstrip('"}').endswith(MANAGED_POLICIES):
            yield f"{written(policy)}: a managed policy that we haven't judged: write the statements that are needed"


def kafka_rights_scoped(subject: Subject) -> Iterator[str]:
    """Rights on Kafka must name topics and groups; `kafka-cluster:*` is the counter-example."""
    for _, statement in statements(subject):
        actions = [action for action in as_list(statement.get("Action")) if str(action).startswith("kafka-cluster:")]
        if any("*" in action for action in actions):
            yield f"{', '.join(actions)}: name the actions"
        for arn in as_list(statement.get("Resource")) if actions else []:
            text = written(arn)
            if text == "*" or _KAFKA_WIDE.search(text) or text.endswith(":*"):
                yield f"{text!r}: name the topics and groups"


def is_wide(resource: str) -> bool:
    """Whether a pattern leaves the resource, account or region open, not only the end of a name."""
    if resource.startswith(("*", "?")):
        return True
    parts = resource.split(":", 5)
    if len(parts) < 6:
        return False
    # Most services put the type first: `role/`, `secret:`. A bucket's ARN starts with its name.
    name = parts[5] if parts[2] == "s3" else re.sub(r"^[a-z-]+[:/]", "", parts[5])
    return any(_WILDCARDS.search(part) for part in parts[:5]) or bool(_WILDCARDS.match(name))


def _is_powerful(action: str) -> bool:
    service, _, name = action.lower().partition(":")
    if action.lower() in WITHOUT_A_NAME:
        return False
    if service in POWERFUL or _WILDCARDS.search(action):
        return True
    return name in _actions_that_know_resources(service)


@cache
def _actions_that_know_resources(service: str) -> frozenset[str]:
    """Read from AWS's service authorization reference, as shipped with cfn-lint."""
    known = _reference().get(service, {}).get("Actions", {})
    return frozenset(name for name, action in known.items() if action.get("Resources"))


@cache
def _reference() -> dict[str, Any]:
    text = files("cfnlint.data.AdditionalSpecs").joinpath("Policies.json").read_text(encoding="utf-8")
    reference: dict[str, Any] = json.loads(text)
    return reference
