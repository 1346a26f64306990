"""The page that says what each setting's change does: docs/setting-changes.md, made by `make setting-changes`."""

import json
import multiprocessing
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any

from operate.changes.advice import ADVICE
from operate.changes.compare import Templates, Touched, short_type, touched
from operate.changes.update_rules import EFFECTS, FACTS
from operate.changes.values import Change, changes
from settings.environment import Environment
from settings.load import load

PAGE = Path(__file__).resolve().parents[2] / "docs" / "setting-changes.md"
# One of each kind: another one has the same settings, and what is other in its values is among the changes of these.
ENVIRONMENTS = ("dev", "prod")
REFUSED_BY_US = "not accepted"
HEAD = """# What a changed setting does

Each setting of dev and prod, changed alone, and what CloudFormation makes of it: in place, replaced or refused.
Made by `make setting-changes` from the templates before and after, the providers' schemas and the facts below; a test
holds it to them. [0056](decisions/0056-review-before-deploy.md) says how.

- **in place**: the resource stays. **made anew**: one of our handlers stops it and starts it again under its name.
- **replaced**: CloudFormation makes a new one and deletes the old one. **new**, **gone**: one more, or one less.
- **refused**: the deployment fails and is rolled back; nothing else of it stays.
- **not accepted**: `make synth` says no, with that line.

`account` and `region` are missing: with another one it is another environment, and this one stays. `pipelines[0]`
stands for every pipeline, and what a pipeline captures is in its own file."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One change of one environment: the setting, from what to what, the worst effect and everything in words."""

    key: str
    change: str
    effect: str
    text: str


class MissingAdviceError(LookupError):
    """A change is refused or loses data, and nobody has written down what to do about it."""


def rows(name: str) -> list[Row]:
    """Change each setting of an environment alone, synthesize and compare. Raises MissingAdviceError."""
    environment = load(name)
    before = synthesized(environment)
    return [row(change, before) for change in changes(environment)]


def synthesized(environment: Environment) -> Templates:
    """Return an environment's templates by stack, without the environment's prefix; nothing is left on disk."""
    # Node.js, which the first import chooses, is started with CDK.
    import app

    folder = Path(tempfile.mkdtemp(prefix="setting-changes-"))
    try:
        app.build(environment, outdir=folder, validate=False).synth()
        suffix, prefix = ".template.json", f"{environment.prefix}-"
        return {
            path.name.removesuffix(suffix).removeprefix(prefix): json.loads(path.read_text(encoding="utf-8"))
            for path in sorted(folder.glob(f"*{suffix}"))
        }
    finally:
        shutil.rmtree(folder)


def in_a_process(names: Sequence[str]) -> dict[str, list[Row]]:
    """Work out `rows` for environments side by side, in processes that take CDK's memory with them."""
    with process(len(names)) as pool:
        return dict(zip(names, pool.map(rows, names), strict=True))


def process(count: int = 1) -> Pool:
    """Start processes for syntheses, `count` of them."""
    return multiprocessing.get_context("spawn").Pool(count, initializer=_silence)


def _silence() -> None:
    """CDK repeats the same warnings at each synthesis; what goes wrong arrives as an exception."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def page(by_environment: Mapping[str, Sequence[Row]]) -> str:
    """Write the page: one row where environments agree."""
    names = list(by_environment)
    shown: dict[tuple[str, str], dict[str, str]] = {}
    for name, found in by_environment.items():
        for each in found:
            shown.setdefault((each.key, each.text), {}).setdefault(name, "")
            cell = shown[(each.key, each.text)]
            cell[name] = f"{cell[name]}; {each.change}".removeprefix("; ")
    keys = list(dict.fromkeys(each.key for found in by_environment.values() for each in found))
    lines = [HEAD, "", f"| setting | {' | '.join(names)} | what happens |", "|---|" + "---|" * (len(names) + 1)]
    for (key, text), cells in sorted(shown.items(), key=lambda item: keys.index(item[0][0])):
        lines.append(f"| `{key}` | {' | '.join(cells.get(name, '') for name in names)} | {text} |")
    return "\n".join([*lines, "", *_facts()]) + "\n"


def write() -> None:
    """Make the page."""
    PAGE.write_text(page(in_a_process(ENVIRONMENTS)), encoding="utf-8")


def row(change: Change, before: Templates) -> Row:
    """Synthesize a change, and say what it does to `before`, or to what is given. Raises MissingAdviceError."""
    if change.environment is None:
        both = written_change(change)
        return Row(key=change.key, change=both, effect=REFUSED_BY_US, text=f"**not accepted** {change.refused}")
    was = before if change.given is None else synthesized(change.given)
    return row_of(change, touched(was, synthesized(change.environment)))


def row_of(change: Change, found: Sequence[Touched]) -> Row:
    """Say what a change does that touches this. Raises MissingAdviceError."""
    effect = max((each.effect for each in found), key=EFFECTS.index, default="nothing")
    advice = ADVICE.get(change.key, "")
    if not advice and (effect == "refused" or any(each.loses_data for each in found)):
        raise MissingAdviceError(f"{change.key}: write into operate/changes/advice.py what to do")
    text = f"{_summary(found) or 'nothing'}. {advice}".strip()
    return Row(key=change.key, change=written_change(change), effect=effect, text=text)


def written_change(change: Change) -> str:
    """Write what a setting is and what it is changed to."""
    return f"{_value(change.before)} → {_value(change.after)}"


def _value(value: Any) -> str:
    match value:
        case None | ():
            return "none"
        case bool():
            return str(value).lower()
        case tuple():
            return ", ".join(map(str, value))
        case dict():
            return ", ".join(f"{key} = {inner}" for key, inner in value.items()) or "none"
    return str(value).replace("|", "\\|")


def _summary(found: Sequence[Touched]) -> str:
    """By effect, the worst first, then by stack: what is touched, and a word on it. A refusal undoes the rest."""
    effects = [effect for effect in reversed(EFFECTS) if any(each.effect == effect for each in found)]
    return "; ".join(_of_effect(effect, found) for effect in (effects[:1] if effects[:1] == ["refused"] else effects))


def _of_effect(effect: str, found: Sequence[Touched]) -> str:
    counted: dict[str, Counter[str]] = {}
    for each in found:
        if each.effect == effect:
            kind = f"{short_type(each.type)}{f' ({each.why})' if each.why else ''}"
            counted.setdefault(each.stack, Counter())[kind] += 1
    parts = [f"{stack}: {', '.join(_counted(kinds))}" for stack, kinds in counted.items()]
    return f"**{effect}** {'; '.join(parts)}"


def _counted(kinds: Counter[str]) -> Iterator[str]:
    for kind, count in sorted(kinds.items()):
        yield kind if count == 1 else f"{count} x {kind}"


def _facts() -> Iterator[str]:
    yield "## What no schema says, and where it is from"
    yield "| resource and property | effect | source |"
    yield "|---|---|---|"
    for type_, facts in FACTS.items():
        for fact in facts:
            why = f": {fact.why}" if fact.why else ""
            yield f"| {short_type(type_)} `{'.'.join(fact.path)}` | {fact.effect}{why} | {fact.source} |"
