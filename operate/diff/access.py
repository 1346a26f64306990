"""Who may do, and who reaches, more or less than before: rights and rules that both sides state, subtracted."""

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from operate.diff.normal_form import Template, Templates, readable
from settings.addresses import is_within
from stacks.gate.grants import ROLE, Grant, grants, together
from stacks.gate.network import EVERYBODY, Rule, rules
from stacks.gate.template import App, Place

# References of other stacks' resources, which this comparison's words have in brackets.
_EXPORT = re.compile(r"(?<![<\w-])[\w-]+:ExportsOutput\w+")


def rights(stack: str, before: Template, after: Template) -> dict[str, list[str]]:
    """Return the lines of three sections, by title: a line per principal and resource.

    A denial, or the loss of a service's right, may stop what needs it: that isn't merely narrower.
    """
    was, is_ = (set(_grants(side)) for side in (before, after))
    come, gone = _uncovered(is_ - was, was), _uncovered(was - is_, is_)
    wider = [*_lines(come, "Allow", "may now"), *_lines(gone, "Deny", "is no longer denied")]
    of_services = {each for each in gone if each.principal.startswith("Service:")}
    locked_out = [*_lines(come, "Deny", "is now denied"), *_lines(of_services, "Allow", "may no longer")]
    narrower = _lines(gone - of_services, "Allow", "may no longer")
    found = {"Rights wider": wider, "Locked out": locked_out, "Rights narrower": narrower}
    return {title: [f"{stack}: {line}" for line in lines] for title, lines in found.items()}


def _grants(template: Template) -> Iterator[Grant]:
    """Yield each right once, whichever resource states it: of whom it names, or of who has the policy."""
    for name, resource in template["Resources"].items():
        for each in grants("", name, resource):
            handed_out = each.holder == f"<{name}>" and resource["Type"] != ROLE
            who = each.principal or (f"any holder of {each.holder}" if handed_out else each.holder)
            yield each._replace(holder="", principal=_bracketed(who), resource=_bracketed(each.resource))


def _uncovered(some: set[Grant], others: set[Grant]) -> set[Grant]:
    """Leave out the rights that a wider pattern on the other side covers."""
    wide = [other for other in others if "*" in other.action or "*" in other.resource or not other.condition]
    return {grant for grant in some if not any(other != grant and _covers(other, grant) for other in wide)}


def _covers(wide: Grant, grant: Grant) -> bool:
    return (
        (wide.principal, wide.effect) == (grant.principal, grant.effect)
        and wide.condition in ("", grant.condition)
        and fnmatchcase(grant.action.lower(), wide.action.lower())
        and fnmatchcase(grant.resource, wide.resource)
    )


def _lines(several: Iterable[Grant], effect: str, verb: str) -> Iterator[str]:
    alike: dict[Grant, list[str]] = {}
    for grant in together(sorted(each for each in several if each.effect == effect)):
        alike.setdefault(grant._replace(resource=""), []).append(readable(grant.resource))
    for each, resources in sorted(alike.items()):
        name = "everybody" if each.principal in ("", "*", "AWS:*") else readable(each.principal.removeprefix("AWS:"))
        where = f" on {', '.join(resources)}" if any(resources) else ""
        yield f"{name} {verb} {each.action}{where}{f' if {readable(each.condition)}' if each.condition else ''}"


def _bracketed(text: str) -> str:
    return _EXPORT.sub(r"<\g<0>>", text)


def network(before: Templates, after: Templates) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the rules that open access and those that close it, a line for each."""
    was, is_ = ({rule._replace(why="") for rule in rules(App(templates=side))} for side in (before, after))
    return _rule_lines(is_ - was, was), _rule_lines(was - is_, is_, "no longer ")


def _rule_lines(found: Iterable[Rule], others: Iterable[Rule], no_longer: str = "") -> tuple[str, ...]:
    uncovered = [rule for rule in found if not any(_rule_covers(other, rule) for other in others)]
    return tuple(sorted(_rule_line(rule, no_longer) for rule in uncovered))


def _rule_line(rule: Rule, no_longer: str) -> str:
    peer = f"everybody ({rule.peer})" if rule.peer in EVERYBODY else _name(rule.peer)
    return f"{rule.group[0]}/{_name(rule.group)}: {rule.ports} {no_longer}{'out to' if rule.out else 'in from'} {peer}"


def _name(end: Place | str) -> str:
    return readable(end if isinstance(end, str) else f"<{end[1]}>")


def _rule_covers(wide: Rule, rule: Rule) -> bool:
    same = wide[:2] == rule[:2] and wide.protocol in ("-1", rule.protocol)
    within = bool(wide.range and rule.range and is_within(rule.range, wide.range))
    return same and wide.first <= rule.first <= rule.last <= wide.last and (wide.peer == rule.peer or within)
