"""Pipelines for tests: files of their own in a folder, as small as they may be."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from settings.load_pipeline import PIPELINES

FIELDS = {"id": "long", "name": "string", "__op": "string", "__lsn": "long", "__source_ts_ms": "long"}


def copied_pipelines(folder: Path) -> Path:
    """A folder of pipelines that a test may add to; it has orders. Beside it is the SQL that some of them name."""
    shutil.copytree(PIPELINES, folder / "pipelines")
    shutil.copytree(PIPELINES.parent / "analytics" / "sql", folder / "analytics" / "sql", dirs_exist_ok=True)
    return folder / "pipelines"


def write_pipeline(
    folder: Path, name: str, tables: Sequence[str], *, source: str = "", table: str = "", schema: str = "public"
) -> None:
    """Write a pipeline of these tables; `source` and `table` are further lines of its source and each table."""
    entries = "".join(
        f'[[tables]]\nsource = "{schema}.{each}"\nhow = "log"\nkey = ["id"]\n{table}\n' for each in tables
    )
    (folder / f"{name}.toml").write_text(f'[source]\ndatabase = "{name}db"\n{source}\n{entries}')
    (folder / name).mkdir()
    for each in tables:
        fields = [{"name": field, "type": ["null", type_]} for field, type_ in FIELDS.items()]
        record = {"type": "record", "namespace": "public", "name": each, "fields": fields}
        (folder / name / f"{each}.avsc").write_text(json.dumps(record))


def add_to(environments: Path, name: str, *lines: str) -> None:
    """Add a pipeline to an environment's file, with further lines of its own."""
    path = environments / "dev.toml"
    path.write_text(path.read_text() + "\n".join(["", "[[pipelines]]", f'name = "{name}"', *lines, ""]))
