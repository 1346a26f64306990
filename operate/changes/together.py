"""Changes settings that touch different stacks in one synthesis: a check needs a third as many syntheses.

The page says which stacks a setting touches, and a group's result is split by stack. If a result is in none of the
group's stacks or contradicts the page, each setting is synthesized alone: the page describes each alone.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from operate.changes.compare import Templates, touched
from operate.changes.page import Row, new_value, row, row_of, synthesized
from operate.changes.values import Change, changed_together, changes
from settings.load import load

# A row's key and its change, as the page writes them.
Name = tuple[str, str]
_STACK = re.compile(r"(?:\*\* |; )(?P<stack>[a-z]+): ")
_REFUSED = "**refused**"


def rows_as_said(name: str, said: Mapping[Name, str]) -> list[Row]:
    """Work out an environment's rows; `said` is the page's text for each change and determines the groups."""
    environment = load(name)
    before = synthesized(environment)
    found: list[Row] = []
    for group in groups(list(changes(environment)), said):
        found += _rows(group, before, said)
    return found


def groups(wanted: Iterable[Change], said: Mapping[Name, str]) -> list[list[Change]]:
    """Group changes so that no two in a group touch the same stack.

    Alone stay changes that the page lacks or calls refused, and those compared against another environment than the
    file's. A refusal names one stack of several: the others don't change, because nothing is deployed.
    """
    found: list[tuple[set[str], list[Change]]] = []
    alone: list[list[Change]] = []
    by_size = sorted(wanted, key=lambda change: -len(stacks_of(_text(change, said))))
    for change in by_size:
        text = _text(change, said)
        if change.environment is None or change.given is not None or not text or text.startswith(_REFUSED):
            alone.append([change])
            continue
        stacks = stacks_of(text)
        fits = (each for each in found if not each[0] & stacks and change.key not in {other.key for other in each[1]})
        taken, group = next(fits, (set(), []))
        if not group:
            found.append((taken, group))
        taken |= stacks
        group.append(change)
    return [*alone, *(group for _, group in found)]


def stacks_of(text: str) -> frozenset[str]:
    """Return the stacks that a row of the page names."""
    return frozenset(match["stack"] for match in _STACK.finditer(text))


def _text(change: Change, said: Mapping[Name, str]) -> str:
    return said.get((change.key, new_value(change)), "")


def _rows(group: Sequence[Change], before: Templates, said: Mapping[Name, str]) -> list[Row]:
    if len(group) == 1:
        return [row(group[0], before)]
    found = touched(before, synthesized(changed_together(group)))
    shares = [(change, stacks_of(_text(change, said))) for change in group]
    rows = [row_of(change, [each for each in found if each.stack in stacks]) for change, stacks in shares]
    unexpected = {each.stack for each in found}.difference(*(stacks for _, stacks in shares))
    if unexpected or any(each.text != said.get((each.key, each.change)) for each in rows):
        return [row(change, before) for change in group]
    return rows
