"""Rules of our own on synthesized templates: what cdk-nag and cfn-lint can't know of this system.

Each rule looks at one resource of a template, as CloudFormation gets it, and yields what is wrong with it.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Resource = Mapping[str, Any]
Rule = Callable[[Resource], Iterator[str]]
SHA256 = re.compile(r"[0-9a-f]{64}")
REFERENCE = re.compile(r"\$\{secretsmanager:.+:[^:}]+\}", re.DOTALL)
SECRET_KEY = re.compile(r"passw|secret(?!smanager)|token|credential|jaas", re.IGNORECASE)
# How CloudFormation itself would put a secret's value into a property, in plain text.
RESOLVED = "{{resolve:secretsmanager:"
# UDP for IPsec's key exchange and its NAT traversal: the only ports that may be open to everyone.
IPSEC_PORTS = frozenset({500, 4500})
WORLD = frozenset({"0.0.0.0/0", "::/0"})
STATEFUL = frozenset(
    {
        "AWS::Glue::Database",
        "AWS::MSK::Cluster",
        "AWS::RDS::DBCluster",
        "AWS::S3::Bucket",
    }
)
# What a reference stands for; a secret's value isn't among it, but for RESOLVED.
LATER = "\0"
KEPT = frozenset({"Retain", "Snapshot", "RetainExceptOnCreate"})


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a rule has found: `stack` and logical id of the resource, and one line that says what is wrong."""

    rule: str
    level: Literal["error", "warning"]
    stack: str
    resource: str
    message: str

    def __str__(self) -> str:
        return f"{self.level}: {self.rule}: {self.stack}/{self.resource}: {self.message}"


def review(stack: str, template: Mapping[str, Any], *, production: bool) -> list[Finding]:
    """Apply every rule to every resource of one template."""
    rules = RULES | (PRODUCTION_RULES if production else {})
    return [
        Finding(
            rule=name,
            level="warning" if name in WARNINGS else "error",
            stack=stack,
            resource=logical_id,
            message=message,
        )
        for logical_id, resource in sorted(template["Resources"].items())
        for name, rule in rules.items()
        for message in rule(resource)
    ]


def plain_text(value: Any) -> str:
    """Write a property that may hold CloudFormation functions as text; LATER stands for what is known only then."""
    match value:
        case str():
            return value
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(plain_text(part) for part in parts)
        case _:
            return LATER


def request_of(resource: Resource) -> dict[str, Any] | None:
    """Read the `Request` of a custom resource, None for anything else."""
    if not str(resource["Type"]).startswith("Custom::") or "Request" not in resource.get("Properties", {}):
        return None
    request: dict[str, Any] = json.loads(plain_text(resource["Properties"]["Request"]), strict=False)
    return request


def _no_secret_values(resource: Resource) -> Iterator[str]:
    """A custom resource's properties are shown to whoever may see the stack, and logged by CloudTrail."""
    if str(resource["Type"]).startswith("Custom::") and RESOLVED in json.dumps(resource):
        yield "a secret is resolved into its properties: hand over the secret's name and read it in the handler"
    for path, value in _strings(request_of(resource) or {}, ()):
        known = value != LATER and not REFERENCE.fullmatch(value)
        if SECRET_KEY.search(path[-1]) and known and not _names_a_secret(path[-1]):
            yield f"{'.'.join(path)} isn't a reference such as ${{secretsmanager:name:key}}"


def _checksums_present(resource: Resource) -> Iterator[str]:
    """What is deployed has been verified against a hash that someone has computed."""
    for release in (request_of(resource) or {}).get("releases", []):
        if not SHA256.fullmatch(release.get("sha256", "")):
            yield f"{release.get('file')} has no SHA-256: `make lock-plugins` computes it; nothing deploys without"


def _kafka_rights_scoped(resource: Resource) -> Iterator[str]:
    """Rights on Kafka name their topics and groups; `kafka-cluster:*` is the counter-example."""
    for statement in _statements(resource):
        actions = [action for action in _list(statement.get("Action")) if str(action).startswith("kafka-cluster:")]
        if any("*" in action for action in actions):
            yield f"{', '.join(actions)}: name the actions"
        for arn in _list(statement.get("Resource")) if actions else []:
            text = plain_text(arn)
            if (
                text == "*"
                or re.search(r":(topic|group|transactional-id)/[^/]*/[^/]*/\*$", text)
                or text.endswith(":*")
            ):
                yield f"{text!r}: name the topics and groups"


def _no_open_ports(resource: Resource) -> Iterator[str]:
    """Nothing but IPsec is reachable from the world."""
    properties = resource.get("Properties", {})
    match resource["Type"]:
        case "AWS::EC2::SecurityGroup":
            ingress = properties.get("SecurityGroupIngress", [])
        case "AWS::EC2::SecurityGroupIngress":
            ingress = [properties]
        case _:
            return
    for rule in ingress:
        if {rule.get("CidrIp"), rule.get("CidrIpv6")} & WORLD and not _is_ipsec(rule):
            ports = f"{rule.get('IpProtocol')} {rule.get('FromPort', 'all')}-{rule.get('ToPort', 'all')}"
            yield f"{ports} is open to the world"


def _no_administrators(resource: Resource) -> Iterator[str]:
    """No role may do everything to everything."""
    for statement in _statements(resource):
        if statement.get("Effect", "Allow") == "Allow" and "*" in _list(statement.get("Action")):
            yield "a statement allows every action"


def _data_survives(resource: Resource) -> Iterator[str]:
    """In production what holds data outlives its stack, and its replacement."""
    if resource["Type"] in STATEFUL:
        for policy in ("DeletionPolicy", "UpdateReplacePolicy"):
            if resource.get(policy) not in KEPT:
                yield f"{policy} is {resource.get(policy, 'Delete')}: production keeps its data"


RULES: dict[str, Rule] = {
    "no-secret-values": _no_secret_values,
    "checksums-present": _checksums_present,
    "kafka-rights-scoped": _kafka_rights_scoped,
    "no-open-ports": _no_open_ports,
    "no-administrators": _no_administrators,
}
PRODUCTION_RULES: dict[str, Rule] = {"data-survives": _data_survives}
# A template without a checksum may be looked at; `make deploy` and the handler refuse it.
WARNINGS = frozenset({"checksums-present"})


def _names_a_secret(key: str) -> bool:
    """Tell whether a key holds a secret's name or ARN and not its value."""
    return bool(re.search(r"(arn|id|name)$", key, re.IGNORECASE)) or key.startswith("config.providers")


def _is_ipsec(rule: Mapping[str, Any]) -> bool:
    ports = {rule.get("FromPort"), rule.get("ToPort")}
    return rule.get("IpProtocol") == "udp" and len(ports) == 1 and ports <= IPSEC_PORTS


def _statements(resource: Resource) -> Iterator[Mapping[str, Any]]:
    properties = resource.get("Properties", {})
    documents = [properties.get("PolicyDocument")]
    documents += [policy.get("PolicyDocument") for policy in properties.get("Policies", []) if isinstance(policy, dict)]
    for document in documents:
        if isinstance(document, dict):
            yield from document.get("Statement", [])


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _strings(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Walk through a JSON value: every text with the keys that lead to it."""
    match value:
        case dict():
            for key, inner in value.items():
                yield from _strings(inner, (*path, str(key)))
        case list():
            for number, inner in enumerate(value):
                yield from _strings(inner, (*path, str(number)))
        case str() if path:
            yield path, value
