"""Pipelines for tests: minimal files in a separate folder."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

from settings.environment import Environment
from settings.load import PIPELINES, SettingsFileError, load
from tests.stacks.settings import change

FIELDS = {"id": "long", "name": "string", "__op": "string", "__lsn": "long", "__source_ts_ms": "long"}


def copied_pipelines(folder: Path) -> Path:
    """A folder of pipelines that a test may add to; it has orders. Next to it is the SQL that some of them name."""
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
    """Add a pipeline to an environment's file, with further lines for it."""
    path = environments / "dev.toml"
    path.write_text(path.read_text() + "\n".join(["", "[[pipelines]]", f'name = "{name}"', *lines, ""]))


@dataclass(frozen=True)
class Project:
    """Copies of the project's environments and pipelines; changes apply to dev unless stated otherwise."""

    environments: Path
    pipelines: Path

    def write(self, name: str, tables: list[str], *, source: str = "", table: str = "") -> None:
        """Write a pipeline's file."""
        write_pipeline(self.pipelines, name, tables, source=source, table=table)

    def add(self, pipeline: str, *lines: str) -> Self:
        """Add a pipeline to dev's file, with further lines for it."""
        add_to(self.environments, pipeline, *lines)
        return self

    def change(self, section: str, line: str) -> None:
        change(self.environments, "dev", section, line)

    def load(self, name: str = "dev") -> Environment:
        return load(name, self.environments, self.pipelines)

    def refusal(self, name: str = "dev") -> str:
        with pytest.raises(SettingsFileError) as caught:
            self.load(name)
        return str(caught.value)


BY_LOG = """
[source]
database = "shop"

[[tables]]
source = "public.customers"
how = "log"
key = ["id"]
hash = ["email"]

[[tables]]
schema = "Sales"
table = "Orders 2.0"
how = "log"
key = ["id", "line"]
partition_by = ["email"]
"""
BY_QUERY = """
[source]
database = "shop"

[[tables]]
source = "public.customers"
how = "query"
key = ["id"]
column = "changed"
leave_out = ["note"]

[[tables]]
name = "with_city"
query = "SELECT id FROM public.customers"
how = "query"
key = ["id"]
deletes_max_percent = 50
sweep_seconds = 60
"""
DERIVED = """
[[derived]]
name = "names"
key = ["id"]
sql = "SELECT i.id, i.name FROM datalake.shop_items AS i"
"""


def logged_shop(folder: Path) -> Path:
    """Write `shop`, two log-based tables, with the schemas of their events; return its file."""
    return _shop(folder, BY_LOG, {"customers", "orders_2_0"}, ("id", "line", "email", "__lsn"))


def queried_shop(folder: Path) -> Path:
    """Write `shop`, a table and a query that the job runs; return its file."""
    return _shop(folder, BY_QUERY, {"customers", "with_city"}, ("id", "changed", "__read_ms"))


def derived_shop(folder: Path) -> Path:
    """Write `shop`, a table and one derived from it; return its file."""
    pipelines = folder / "pipelines"
    pipelines.mkdir()
    write_pipeline(pipelines, "shop", ["items"])
    path = pipelines / "shop.toml"
    path.write_text(path.read_text() + DERIVED)
    return path


def _shop(folder: Path, text: str, lake_tables: set[str], fields: Sequence[str]) -> Path:
    (folder / "pipelines" / "shop").mkdir(parents=True)
    for lake_table in lake_tables:
        types = [{"name": name, "type": "string"} for name in fields]
        schema = {"type": "record", "name": lake_table, "fields": types}
        (folder / "pipelines" / "shop" / f"{lake_table}.avsc").write_text(json.dumps(schema))
    path = folder / "pipelines" / "shop.toml"
    path.write_text(text)
    return path
