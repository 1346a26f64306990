"""A template as its difference from another environment's: readable, and no longer than the difference.

A patch of an object has a value for each key that differs, and null for a removed key; of a list of the same length,
`{"at": {index: patch}}`; of a resource whose logical id changes, `{"like": former id, …}`. All else is written in full.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

# CDK ends a logical id with a hash of its path or its content.
_HASH = re.compile(r"[0-9A-Fa-f]{8,}$")


def difference(before: Any, after: Any) -> Any:
    """Return the patch that turns `before` into `after`; None if they are equal. A template has no null."""
    match before, after:
        case _ if before == after:
            return None
        case dict(), dict():
            return _of_objects(before, after)
        case list(), list() if len(before) == len(after):
            found = (difference(*pair) for pair in zip(before, after, strict=True))
            patch = {"at": {str(index): each for index, each in enumerate(found) if each is not None}}
            return min(patch, after, key=lambda value: len(json.dumps(value)))
    return after


def patched(before: Any, patch: Any) -> Any:
    """Apply a patch that `difference` has returned."""
    match before, patch:
        case list(), {"at": dict(changes)}:
            places = enumerate(before)
            return [patched(each, changes[str(at)]) if str(at) in changes else each for at, each in places]
        case dict(), dict():
            kept = {key: value for key, value in before.items() if patch.get(key, value) is not None}
            found = {key: patched(value, patch[key]) if key in patch else value for key, value in kept.items()}
            return found | {key: _added(before, value) for key, value in patch.items() if key not in before}
    return patch


def _of_objects(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    gone = {_HASH.sub("", key): key for key in before if key not in after and _HASH.search(key)}
    patch: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        former = gone.get(_HASH.sub("", key))
        if key in before:
            patch |= {key: found} if (found := difference(before[key], value)) is not None else {}
        elif former and isinstance(value, dict) and isinstance(before[former], dict):
            patch[key] = {"like": former} | _of_objects(before[former], value)
        else:
            patch[key] = value
    return patch


def _added(before: Mapping[str, Any], value: Any) -> Any:
    if isinstance(value, dict) and (former := value.get("like")):
        return patched(before[former], {key: each for key, each in value.items() if key != "like"})
    return value
