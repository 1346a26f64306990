"""What others end, and when, from facts.toml."""

import datetime
import tomllib
from pathlib import Path
from typing import Literal

from settings.section import Section

UNKNOWN: Literal["unknown"] = "unknown"


class Facts(Section):
    """A group's values with the day on which each ends, where and when that was read, and what to do before."""

    source: str
    read: datetime.date
    then: str
    ends: dict[str, datetime.date | Literal["unknown"]]


def load_facts() -> dict[str, Facts]:
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return {group: Facts.model_validate(facts) for group, facts in tomllib.loads(text).items()}
