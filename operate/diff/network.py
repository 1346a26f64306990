"""Who reaches more or less: the network's rules of both sides, subtracted."""

from collections.abc import Iterable

from operate.diff.normal_form import Templates, readable
from settings.addresses import is_within
from stacks.gate.network import EVERYBODY, Rule, rules
from stacks.gate.template import App, Place


def network(before: Templates, after: Templates) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the rules that open access and those that close it, a line for each."""
    was, is_ = ({rule._replace(why="") for rule in rules(App(templates=side))} for side in (before, after))
    return _lines(is_ - was, was), _lines(was - is_, is_, "no longer ")


def _lines(found: Iterable[Rule], others: Iterable[Rule], no_longer: str = "") -> tuple[str, ...]:
    uncovered = [rule for rule in found if not any(_covers(other, rule) for other in others)]
    return tuple(sorted(_line(rule, no_longer) for rule in uncovered))


def _line(rule: Rule, no_longer: str) -> str:
    peer = f"everybody ({rule.peer})" if rule.peer in EVERYBODY else _name(rule.peer)
    return f"{rule.group[0]}/{_name(rule.group)}: {rule.ports} {no_longer}{'out to' if rule.out else 'in from'} {peer}"


def _name(end: Place | str) -> str:
    return readable(end if isinstance(end, str) else f"<{end[1]}>")


def _covers(wide: Rule, rule: Rule) -> bool:
    same = wide[:2] == rule[:2] and wide.protocol in ("-1", rule.protocol)
    within = bool(wide.range and rule.range and is_within(rule.range, wide.range))
    return same and wide.first <= rule.first <= rule.last <= wide.last and (wide.peer == rule.peer or within)
