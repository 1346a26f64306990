"""Rules for rights: each must be ordinary, or accepted with a reason.

An acceptance covers exactly one grant of one role (stacks/base.py records it next to the statement); it covers no other
action, resource or condition of that role.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from stacks.gate.grants import ALL_BUT, Grant, of_statement, together
from stacks.gate.template import Subject, written

# Needs no acceptance on named resources: moving and describing data, but not opening it to others.
_ORDINARY = {
    "athena": "BatchGet* Get* List* StartQueryExecution StopQueryExecution",
    "elasticmapreduce": "AddJobFlowSteps CancelSteps Describe* List*",
    "glue": "*Database* *Partition* *Table* GetUserDefinedFunctions",
    "kafka": "Describe* Get* List*",
    "kafka-cluster": "*",
    "kafkaconnect": "*",
    "lambda": "GetFunction InvokeFunction",
    "logs": "CreateLogStream Describe* GetLogEvents PutLogEvents",
    "rds": "Describe*",
    "s3": "AbortMultipartUpload DeleteObject DeleteObjectVersion GetBucketLocation GetObject GetObjectVersion"
    " ListBucket ListBucketMultipartUploads ListBucketVersions ListMultipartUploadParts PutObject",
    "states": "StartExecution",
}
ORDINARY = tuple(f"{service}:{action}".lower() for service, actions in _ORDINARY.items() for action in actions.split())
# Services that give access to others' rights, secrets or code: never on every resource, even if accepted.
POWERFUL = frozenset(
    {
        *("cloudformation", "ec2-instance-connect", "iam", "kms", "lambda", "lakeformation", "organizations", "ram"),
        *("rds-data", "rds-db", "secretsmanager", "sso", "sts"),
    }
)
# These actions support resources, but theirs can't be named: network interfaces not yet created (Lambda and MSK Connect
# in a VPC, AWSLambdaVPCAccessExecutionRole), the instance that an agent runs on (AmazonSSMManagedInstanceCore),
# metrics, which have no ARN (CloudWatch user guide, "permissions reference": `*` as the resource value), Lake
# Formation's grants (its developer guide, "Lake Formation permissions reference": `*`).
WITHOUT_A_NAME = frozenset(
    {
        *("cloudwatch:getmetricdata", "ec2:createnetworkinterface", "ec2:deletenetworkinterface"),
        *("lakeformation:getdataaccess", "ssm:updateinstanceinformation"),
    }
)
# A reference to a resource; AWS's own values say only where.
_OWN = re.compile(r"<(?!AWS::)[^<>]+>")
_WILDCARDS = re.compile(r"[*?]")
_ACCOUNT = re.compile(r":(\d{12}):")
_BUCKET = re.compile(r":s3:::([^/]*)")


def accepted_statement(stack: str, noted: Mapping[str, Any]) -> dict[Grant, str]:
    """Read the rights of a statement that stacks/base.py noted in the metadata, with who has them, and the reason."""
    found = of_statement(stack, written(noted["holder"]), noted["statement"])
    return dict.fromkeys(filter(needs_acceptance, found), noted["reason"])


def needs_acceptance(grant: Grant) -> bool:
    if grant.principal or _WILDCARDS.search(grant.action) or _WILDCARDS.search(grant.resource):
        return True
    return not any(fnmatchcase(grant.action.lower(), pattern) for pattern in ORDINARY)


def rights_accepted(accepted: Collection[Grant], subject: Subject) -> Iterator[str]:
    """A role's rights must be ordinary ones on named resources, or accepted."""
    unknown = (each for each in subject.grants if needs_acceptance(each) and each not in accepted)
    for grant in together(each for each in unknown if not each.principal):
        yield f"{grant}: nobody has accepted this: narrow it, or give the reason next to the statement (stacks/base.py)"


def ordinary_on_ours(subject: Subject) -> Iterator[str]:
    """What needs no acceptance must be of resources of this app; anybody can make a bucket that is named like ours."""
    settings = subject.settings
    buckets = {written(each.get("BucketName")) for each in subject.app.resources("AWS::S3::Bucket")}
    buckets |= {f"cdk-hnb659fds-assets-{settings.account}-{settings.region}"}
    ours = (
        settings.prefix,
        f"/{settings.lake.database}",
        # Spark and Hive look into these of each catalog; the catalog itself is in all of Glue's requests.
        f":{settings.account}:catalog",
        ":datacatalog/AwsDataCatalog",
        ":database/default",
        ":database/global_temp",
    )
    for grant in subject.grants:
        if bucket := _BUCKET.search(grant.resource):
            known = bucket[1] in buckets or _OWN.fullmatch(bucket[1])
        else:
            known = any(each in grant.resource for each in ours) or _OWN.search(grant.resource)
        if not known and not needs_acceptance(grant):
            yield f"{grant}: this isn't a resource of this app"


def no_administrators(subject: Subject) -> Iterator[str]:
    """Not even an acceptance allows every action, all but some, another account, or a powerful right on everything."""
    for grant in subject.grants:
        if any(text.startswith(ALL_BUT) for text in (grant.principal, grant.action, grant.resource)):
            yield f"{grant}: name what is allowed, in place of what isn't"
        elif set(_ACCOUNT.findall(f"{grant.principal} {grant.resource}")) - {subject.settings.account}:
            yield f"{grant}: this names another account than the environment's"
        elif not grant.principal and re.match(r"[^:]*(\*|:\*$)", grant.action):
            yield f"{grant}: a statement allows every action: name the actions"
        elif not grant.principal and is_wide(grant.resource) and not grant.condition and _is_powerful(grant.action):
            yield f"{grant}: this action knows resources: name them"


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
    # By its file: importing cfn-lint takes 30 times as long as reading it.
    path = distribution("cfn-lint").locate_file("cfnlint/data/AdditionalSpecs/Policies.json")
    reference: dict[str, Any] = json.loads(Path(str(path)).read_text(encoding="utf-8"))
    return reference
