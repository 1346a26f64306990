"""Changes of what the gate judges: each property that stacks/gate/allowed.toml doesn't call plain text."""

from collections.abc import Iterator, Mapping
from typing import Any

from operate.changes.compare import differences, short_type
from operate.changes.update_rules import Path
from operate.diff.normal_form import Template, from_to, resource
from stacks.gate.properties import ALLOWED, candidates, is_plain, lines, step
from stacks.gate.secrets import RESOLVED
from stacks.gate.template import is_intrinsic

# Told as rights (rights.py).
_DOCUMENTS = frozenset({"AssumeRolePolicyDocument", "KeyPolicy", "Policies", "PolicyDocument", "ResourcePolicy"})
# Of security groups, told as who reaches whom (network.py).
_GROUP = "AWS::EC2::SecurityGroup"
_RULES = frozenset(
    {
        *("CidrIp", "CidrIpv6", "DestinationPrefixListId", "DestinationSecurityGroupId", "FromPort", "GroupId"),
        *("IpProtocol", "SecurityGroupEgress", "SecurityGroupIngress", "SourcePrefixListId", "SourceSecurityGroupId"),
        "ToPort",
    }
)
# Of a resource, besides its properties: these change nothing that is deployed.
_ATTRIBUTES = frozenset({"DependsOn", "Metadata", "Properties"})
# Of a template: resources are compared one by one, and outputs hand on what those have.
SECTIONS = frozenset({"Description", "Metadata", "Outputs", "Resources"})
_NORMAL = frozenset({"file", "json", "lines"})


def is_judged(type_: str, path: Path) -> bool:
    """Whether a property, one above it or one within it, is more than plain text to the gate, or isn't on its list."""
    if type_ not in ALLOWED:
        return True
    steps = [step(key) for key in path if key not in _NORMAL]
    for end in range(1, len(steps) + 1):
        for line in candidates("/".join(steps[:end])):
            if line in lines(type_):
                return bool(lines(type_)[line] != "text")
    within = [kind for line, kind in lines(type_).items() if line.startswith("/".join(steps) + "/")]
    return not within or any(kind != "text" for kind in within)


def judged(stack: str, before: Template, after: Template) -> Iterator[str]:
    """List each judged change of a stack's template; requests.py tells those of custom resources."""
    for section in sorted({*before, *after} - SECTIONS):
        if before.get(section) != after.get(section):
            yield f"{stack}: {section} {from_to(before.get(section), after.get(section))}"
    for name, output in sorted(after.get("Outputs", {}).items()):
        if "{{resolve:" in str(output) and output != before.get("Outputs", {}).get(name):
            yield f"{stack}: the output {name} shows a secret's value"
    for name, old, new in pairs(before, after):
        said = f"{stack}/{resource(name)} ({short_type(old['Type'])})"
        for key in sorted({*old, *new} - _ATTRIBUTES):
            if old.get(key) != new.get(key):
                yield f"{said}: {key} {from_to(old.get(key), new.get(key))}"
        for path, was, is_ in _properties(old, new):
            yield f"{said}: {in_words(path)} {from_to(was, is_)}"


def _properties(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[Path, Any, Any]]:
    if new["Type"].startswith("Custom::"):
        return
    for path, was, is_ in differences(old.get("Properties", {}), new.get("Properties", {})):
        grave = is_judged(new["Type"], path) or RESOLVED.search(str(is_))
        if grave and not _is_told(new["Type"], path, is_):
            yield path, was, is_


def _is_told(type_: str, path: Path, value: Any) -> bool:
    """Whether another section tells a change: it must be readable there."""
    told = bool(_DOCUMENTS & set(path)) or (type_.startswith(_GROUP) and path[-1] in _RULES)
    whole = path[-1] in _DOCUMENTS and is_intrinsic(value)
    return told and is_plain(value) and not whole


def pairs(before: Template, after: Template) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Yield what both sides have, by its new logical id: the same one, or another that only differs by CDK's hash."""
    gone = {(resource(name), each["Type"]): each for name, each in before["Resources"].items() if _lacks(after, name)}
    for name, new in sorted(after["Resources"].items()):
        old = before["Resources"].get(name) or gone.get((resource(name), new["Type"]))
        if old is not None:
            yield name, old, new


def _lacks(template: Template, name: str) -> bool:
    return name not in template["Resources"]


def in_words(path: Path) -> str:
    return ".".join(key for key in path if key != "*" and key not in _NORMAL)
