"""An environment with other values of some settings, for one comparison: `./lake aws diff --set key=value`."""

import tomllib
from collections.abc import Sequence
from datetime import date
from typing import Any

from operate.errors import OperateError
from settings.environment import Environment
from settings.load import load


def assigned(environment: Environment, assignments: Sequence[str]) -> Environment:
    """Return the environment with these settings, each `key=value`, as in its file; a text needs no quotes.

    Raises OperateError for a key that isn't there, SettingsFileError for a value that isn't accepted.
    """
    # As in the file, which has neither its own name nor the pipelines' files.
    values: Any = environment.model_dump(mode="json", exclude={"name": True, "pipelines": {"__all__": {"captured"}}})
    for assignment in assignments:
        key, _, text = assignment.partition("=")
        *path, last = key.replace("[", ".").replace("]", "").split(".")
        place = values
        try:
            for step in path:
                place = place[int(step) if step.isdecimal() else step]
            place[last] = _value(text, place[last])
        except (IndexError, KeyError, TypeError):
            raise OperateError(
                f"--set {assignment}: there is no such setting: write key=value, such as database.instances=3 or "
                "pipelines[0].sink.tasks=2"
            ) from None
    return load(environment.name, assigned=values)


def _value(text: str, before: Any) -> Any:
    """Parse a value in TOML; a text may look like a number or a date."""
    try:
        found = tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
    return text if isinstance(found, date) or (isinstance(before, str) and not isinstance(found, str)) else found
