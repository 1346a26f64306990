"""What happens to each resource: lost with its data, replaced, refused, new, deleted, updated in place."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from operate.changes.compare import Touched, differences, short_type, touched
from operate.changes.update_rules import Path, effect_of
from operate.diff.judged import in_words, is_judged
from operate.diff.normal_form import Template, Templates, from_to, resource

# The most destructive first, which is CloudFormation's default.
POLICIES = ("Delete", "Snapshot", "RetainExceptOnCreate", "Retain")
# What is lost with a resource unless a policy keeps it.
LOST: Mapping[str, str] = {
    "AWS::EC2::EIP": "its public address",
    "AWS::EC2::Instance": "what is on its disk",
    "AWS::EMR::Cluster": "its logs on disk and what runs; tables are in S3, the job goes on from its last commit",
    "AWS::Glue::Database": "the catalogue's tables, until the job's next sync; files in S3 stay",
    "AWS::KMS::Key": "what is encrypted with it, once its waiting time is over",
    "AWS::Logs::LogGroup": "its events",
    "AWS::MSK::Cluster": "every topic: events that haven't landed, and the connectors' offsets",
    "AWS::RDS::DBCluster": "every row of the database, its backups and the connector's slot",
    "AWS::S3::Bucket": "every object in it, with all versions",
    "AWS::SecretsManager::Secret": "its value: what uses it must get the new one",
    "Custom::PreparedSource": "the connector's slot: changes until there is another are missed",
}
# Of what holds data, these are lost for good; the rest comes back, or isn't needed.
PRECIOUS = frozenset({"AWS::KMS::Key", "AWS::MSK::Cluster", "AWS::RDS::DBCluster", "AWS::S3::Bucket"})
# What a changed request leaves in place; the changed keys are listed separately.
STAYS: Mapping[str, str] = {
    "Custom::Connector": "updated in place: its tasks start again, its offsets stay",
    "Custom::KubernetesConnector": "updated in place: its workers change one by one, its offsets stay",
    "Custom::KubernetesObjects": "applied again; what is no longer named is deleted",
    "Custom::PreparedSource": "the preparation runs again; data that is there stays",
    "Custom::QueriedSource": "rights to read are given or looked for again; nothing else is touched there",
    "Custom::Topics": "topics and what they hold stay",
}
SHOWN, CARRIED = 3, "what it refers to changes"
IMAGE = "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>"


def compare(before: Templates, after: Templates) -> list[Touched]:
    """Return what a deployment touches; where only CDK's hash in a name is another, as one resource that goes."""
    found = touched(before, after)
    come, go = ({said(each) for each in found if each.effect == effect} for effect in ("new", "gone"))
    followed = come & go
    return [
        _followed(each) if each.effect == "gone" and said(each) in followed else each
        for each in found
        if each.effect != "new" or said(each) not in followed
    ]


def _followed(each: Touched) -> Touched:
    return replace(each, why=f"{each.why}, and another takes its place".removeprefix(", "))


def said(each: Touched) -> str:
    """Name a resource: stack, name and type."""
    return f"{each.stack}/{resource(each.name)} ({short_type(each.type)})"


def lost(each: Touched, before: Template, after: Template) -> str:
    """Return what is lost when a resource is replaced or deleted; empty if nothing is."""
    what = LOST.get(each.type, "")
    if each.effect not in ("replaced", "gone") or not what:
        return ""
    policy = _policy(each, before, after)
    if policy == "Delete":
        return f"lost: {what}"
    if policy == "Snapshot":
        return f"a snapshot is taken first; otherwise lost: {what}"
    return f"the old one is kept, without a stack, and the new one begins without it: {what}"


def _policy(each: Touched, before: Template, after: Template) -> str:
    """Return what happens to the old resource: by the weaker of the templates' policies."""
    kind = "DeletionPolicy" if each.effect == "gone" else "UpdateReplacePolicy"
    sides = (before,) if each.effect == "gone" else (before, after)
    found: list[str] = [
        side["Resources"][each.name].get(kind, POLICIES[0]) for side in sides if each.name in side["Resources"]
    ]
    return min(found, key=POLICIES.index)


def in_place(each: Touched, before: Template, after: Template) -> str:
    """Describe changes in a resource that stays: the first properties with their values, then how many more."""
    if each.type in STAYS:
        return STAYS[each.type]
    found = [f"{in_words(path)} {from_to(*values)}" for path, *values in _changes(each, before, after)]
    return _some(found) or CARRIED


def texts(each: Touched, before: Template, after: Template) -> str:
    """The same without what the gate judges, which is told apart."""
    if each.type.startswith("Custom::"):
        return STAYS.get(each.type, "")
    found = list(_changes(each, before, after))
    plain = [f"{in_words(path)} {from_to(*values)}" for path, *values in found if not is_judged(each.type, path)]
    return _some(plain) if found else CARRIED


def _some(parts: Sequence[str]) -> str:
    more = [f"and {len(parts) - SHOWN} more"] if len(parts) > SHOWN else []
    return "; ".join([*parts[:SHOWN], *more])


def _changes(each: Touched, before: Template, after: Template) -> Iterator[tuple[Path, Any, Any]]:
    old, new = (side["Resources"].get(each.name, {}) for side in (before, after))
    for policy in ("DeletionPolicy", "UpdateReplacePolicy"):
        if old.get(policy) != new.get(policy):
            yield (policy,), old.get(policy), new.get(policy)
    yield from differences(old.get("Properties", {}), new.get("Properties", {}))


@dataclass(frozen=True, kw_only=True)
class LookedUp:
    """A resource whose machine image the public parameter `source` names at deployment."""

    stack: str
    logical_id: str
    type_: str
    source: str

    @property
    def words(self) -> str:
        replaced = effect_of(self.type_, ("ImageId",), "", "")[0] == "replaced"
        does = "a newer one replaces it" if replaced else "a newer one changes it"
        return f"its image is what {self.source} names on the day of the deployment: {does}"


def looked_up(templates: Templates) -> Iterator[LookedUp]:
    for stack, template in sorted(templates.items()):
        yield from _images(stack, template)


def resolved(templates: Templates) -> list[str]:
    """List those resources, and warn that no comparison of templates shows a new image."""
    return [
        f"{found.stack}/{resource(found.logical_id)} ({short_type(found.type_)}): {found.words}, "
        "and no comparison of templates shows that"
        for found in looked_up(templates)
    ]


def _images(stack: str, template: Template) -> Iterator[LookedUp]:
    for name, parameter in sorted(template.get("Parameters", {}).items()):
        if parameter.get("Type") != IMAGE:
            continue
        for logical_id, each in sorted(template["Resources"].items()):
            if f'{{"Ref": "{name}"}}' in json.dumps(each.get("Properties", {})):
                yield LookedUp(stack=stack, logical_id=logical_id, type_=each["Type"], source=parameter["Default"])
