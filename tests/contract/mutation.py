"""A copy of the project in which everything that the contract says has another value, for tests of who follows."""

import ast
import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = (
    *("avro_names", "capture_objects", "events", "lake", "metrics", "source", "source_tags", "special_values"),
    *("stop_file", "tags"),
)
CODE = [
    "analytics",
    "app.py",
    "capture",
    "cdk.json",
    "contract",
    "db",
    "local",
    "plugins",
    "requirements.txt",
    "settings",
    "spark_jobs",
    "stacks",
]
# Everyday words, which mean something else where data has them.
WORDS = "states"
# What carries names as data, and is held to the contract by the settings' rules: here it follows.
DATA = ("environments", "pipelines")
# Words of Debezium's and PostgreSQL's own: nobody chooses them.
FOREIGN = {"READ", "CREATE", "UPDATE", "DELETE", "IS_DELETED", "EXACT_NUMBER", "BITS_LENGTH", "ZONED_TIME"}


def copy_mutated(folder: Path) -> dict[str, str]:
    """Copy the project there and change each constant; return old values with their new ones."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in (*CODE, *DATA):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copyfile(ROOT / name, folder / name)
    changed: dict[str, str] = {}
    for family in FAMILIES:
        changed |= _mutate(folder / "contract" / f"{family}.py")
    words = _mutate(folder / "contract" / f"{WORDS}.py")
    follow = changed | _derived(changed)
    for path in [path for name in DATA for path in (folder / name).rglob("*") if path.is_file()]:
        path.write_text(replaced(path.read_text(encoding="utf-8"), follow), encoding="utf-8")
    for old, new in changed.items():
        for path in (folder / "pipelines").rglob(f"{old}.avsc"):
            shutil.copyfile(path, path.with_name(f"{new}.avsc"))
    return follow | words


def replaced(text: str, names: dict[str, str]) -> str:
    """Put the new names in the place of the old ones, where those are whole words and no file's name."""
    return pattern(names).sub(lambda found: names[found[0]], text)


def pattern(names: dict[str, str]) -> re.Pattern[str]:
    """Find any of the names as a whole word that isn't a file's name."""
    words = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<![\w-])(?:{words})(?![\w-]|\.(?:avsc|properties))")


def _mutate(path: Path) -> dict[str, str]:
    text = path.read_text(encoding="utf-8")
    changed = {}
    tree = ast.parse(text)
    members = [node for one in tree.body if isinstance(one, ast.ClassDef) for node in one.body]
    for node in (*tree.body, *members):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            old, target = node.value.value, node.targets[0]
            if isinstance(target, ast.Name) and target.id not in FOREIGN:
                # Before the last character, so that braces and underscores stay what they are.
                changed[old] = f"{old[:-1]}x{old[-1]}"
                line = rf"\g<1>{target.id} = {changed[old]!r}"
                text = re.sub(rf"^( *){target.id} = .*$", line, text, flags=re.MULTILINE)
    path.write_text(text, encoding="utf-8")
    return changed


def _derived(changed: dict[str, str]) -> dict[str, str]:
    """The fields whose names the prefix begins."""
    from contract import events

    fields = (events.OPERATION, events.DATABASE, events.TABLE, events.SCHEMA, events.LSN, events.SOURCE_TIME_MS)
    return {field: changed[events.PREFIX] + field.removeprefix(events.PREFIX) for field in fields}
