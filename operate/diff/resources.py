"""Says what happens to each resource, with its changes: each line goes to a section of the comparison."""

import json
from collections.abc import Iterator, Mapping, Sequence

from operate.diff.changed import NAME_TAKEN, Change, Changed
from operate.diff.effects import Effect, effect_of
from operate.diff.normal_form import Templates, from_to, name_of
from operate.diff.requests import in_words
from stacks.gate.data import DATA, POLICIES
from stacks.gate.properties import is_plain
from stacks.gate.template import DOCUMENTS, is_intrinsic

SECTIONS: Mapping[Effect, str] = {
    "refused": "Refused by CloudFormation",
    "replaced": "Replaced",
    "gone": "Gone",
    "new": "New",
    "recreated": "Recreated",
    "in place": "Changed in place",
}
SHOWN, CARRIED = 3, "what it refers to changes"
IMAGE = "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>"
# Told as rights (access.py).
_DOCUMENTS = DOCUMENTS | {"Policies"}
# Of security groups, told as who reaches whom.
_GROUP = "AWS::EC2::SecurityGroup"
_RULES = frozenset(
    {
        *("CidrIp", "CidrIpv6", "DestinationPrefixListId", "DestinationSecurityGroupId", "FromPort", "GroupId"),
        *("IpProtocol", "SecurityGroupEgress", "SecurityGroupIngress", "SourcePrefixListId", "SourceSecurityGroupId"),
        "ToPort",
    }
)


def said(each: Changed) -> Iterator[tuple[str, str]]:
    """Yield all lines on a resource, each with its section's title."""
    loss = lost(each)
    if loss and DATA[each.type].for_good:
        yield "Data lost or left behind", f"{each.name_said} {each.effect}: {loss}"
    text = each.why
    if each.effect == "refused" and each.type != "export":
        would = lost(each._replace(effect="replaced")) if each.why == NAME_TAKEN else ""
        text = f"{_some(each.changes) or CARRIED}: {each.why}"
        loss = f"under another name it would be replaced: {would}" if would else ""
    elif each.effect == "replaced" and not each.is_custom:
        text = _some(each.changes) or CARRIED
    elif each.effect == "in place":
        text = "; ".join(filter(None, (each.why, _texts(each))))
    if text or each.effect != "in place":
        loss = f". {loss[0].upper()}{loss[1:]}" if loss else ""
        yield SECTIONS[each.effect], f"{each.name_said}{f': {text}' if text else ''}{loss}"
    yield from _changes(each)


def _changes(each: Changed) -> Iterator[tuple[str, str]]:
    """Yield a line for each change that the resource's own line hasn't said, and no other section tells."""
    said = SHOWN if each.effect in ("refused", "replaced") and not each.is_custom else 0
    for change in each.changes[said:]:
        if each.is_custom and change.path:
            title = "Connectors, jobs, topics" if change.judged else "Texts of connectors, jobs, topics"
            yield title, f"{each.name_said}: {in_words(each.type, *change[1:4])}"
        elif change.judged and not _is_told(each.type, change):
            yield "Values that the gate judges", f"{each.name_said}: {_in_words(change)}"


def lost(each: Changed) -> str:
    """Return what is lost when a resource is replaced or deleted; empty if nothing is."""
    what = DATA[each.type].lost if each.type in DATA else ""
    if each.effect not in ("replaced", "gone") or not what:
        return ""
    # Of the templates' policies the weaker one counts.
    gone = each.effect == "gone"
    kind, sides = ("DeletionPolicy", [each.old]) if gone else ("UpdateReplacePolicy", [each.old, each.new])
    policy = min((str(side.get(kind, POLICIES[0])) for side in sides), key=POLICIES.index)
    if policy == "Delete":
        return f"lost: {what}"
    if policy == "Snapshot":
        return f"a snapshot is taken first; otherwise lost: {what}"
    return f"the old one is kept, without a stack, and the new one begins without it: {what}"


def _texts(each: Changed) -> str:
    """Return changes of plain text: what the gate judges is told apart, as requests are."""
    if each.is_custom:
        return ""
    return _some([change for change in each.changes if not change.judged]) if each.changes else CARRIED


def _some(changes: Sequence[Change]) -> str:
    """Write the first changes with their values, then how many more."""
    more = [f"and {len(changes) - SHOWN} more"] if len(changes) > SHOWN else []
    return "; ".join([*map(_in_words, changes[:SHOWN]), *more])


def _in_words(change: Change) -> str:
    return f"{change.words} {from_to(change.old, change.new)}"


def _is_told(type_: str, change: Change) -> bool:
    """Whether rights or networks' rules tell a change of a property: it must be readable there."""
    last = change.path[-1] if change.path else ""
    told = bool(_DOCUMENTS & set(change.path)) or (type_.startswith(_GROUP) and last in _RULES)
    return told and is_plain(change.new) and not (last in _DOCUMENTS and is_intrinsic(change.new))


def looked_up(templates: Templates) -> Iterator[tuple[str, str, str, str]]:
    """Yield stack, logical id, type, and that a public parameter names the machine image at the deployment."""
    for stack, template in sorted(templates.items()):
        for name, parameter in sorted(template.get("Parameters", {}).items()):
            for logical_id, each in sorted(template["Resources"].items()) if parameter.get("Type") == IMAGE else ():
                if f'{{"Ref": "{name}"}}' in json.dumps(each.get("Properties", {})):
                    replaced = effect_of(each["Type"], ("ImageId",), "", "")[0] == "replaced"
                    does = "a newer one replaces it" if replaced else "a newer one changes it"
                    words = f"its image is what {parameter['Default']} names on the day of the deployment: {does}"
                    yield stack, logical_id, each["Type"], words


def resolved(templates: Templates) -> list[str]:
    """List those resources, and warn that no comparison of templates shows a new image."""
    return [
        f"{name_of(*place)}: {words}, and no comparison of templates shows that"
        for *place, words in looked_up(templates)
    ]
