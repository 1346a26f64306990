"""Whether a deployment calls the handlers that prepare a database again: when what they run there changes."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from operate.diff import snapshots
from operate.diff.normal_form import text_of
from settings.load import load
from stacks.handler_code import ROOT, sql_hash, stage

MODULE = "preparation"
# What no preparation runs.
OTHERS = {f"db/source/{name}.py" for name in ("deletes", "drift", "replication", "signals")}
WRITES_SQL = sorted({path.relative_to(ROOT).as_posix() for path in (ROOT / "db" / "source").glob("[!_]*.py")} - OTHERS)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("original")
    for folder in ("contract", "db", "stacks/handlers"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return root


def changed(original: Path, tmp_path: Path, file: str, line: str) -> Path:
    """The same with one more line in one file."""
    root = tmp_path / "changed"
    shutil.copytree(original, root)
    (root / file).write_text((root / file).read_text() + f"\n{line}\n")
    return root


@pytest.mark.parametrize("file", [*WRITES_SQL, "contract/source.py", "db/connecting.py"])
def test_other_code_that_writes_sql_prepares_a_pipelines_database_again(
    original: Path, tmp_path: Path, file: str
) -> None:
    assert sql_hash(MODULE, changed(original, tmp_path, file, "CHANGED = 1")) != sql_hash(MODULE, original)


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("db/sql/07_replication.sql", "SELECT 1;"),
        ("db/outbox.py", "CHANGED = 1"),
        ("db/migrating.py", "CHANGED = 1"),
        ("contract/source.py", 'SLOT = "another"'),
    ],
)
def test_another_outbox_prepares_the_source_again(original: Path, tmp_path: Path, file: str, line: str) -> None:
    assert sql_hash(MODULE, changed(original, tmp_path, file, line)) != sql_hash(MODULE, original)


@pytest.mark.parametrize("file", ["db/source/plan.py", "contract/metrics.py", *sorted(OTHERS)])
def test_what_is_not_run_there_and_comments_prepare_nothing_again(original: Path, tmp_path: Path, file: str) -> None:
    line = "# Changed." if file == "db/source/plan.py" else "CHANGED = 1"
    assert sql_hash(MODULE, changed(original, tmp_path, file, line)) == sql_hash(MODULE, original)


@pytest.mark.parametrize("environment", ["dev", "prod", "sandbox"])
def test_the_snapshots_have_the_hash_of_now(environment: str) -> None:
    """Here because a change in `db` shows in no other unit test that the templates change, too."""
    text = text_of(snapshots.read(load(environment))["database"])
    assert re.findall(r'"sqlHash": "(\w+)"', text) == [sql_hash(MODULE)], "run `./lake aws synth --save`"


def test_what_is_shipped_has_all_that_its_handlers_import_and_the_sample_rows(tmp_path: Path) -> None:
    names = [path.stem for path in (ROOT / "stacks" / "handlers").glob("[!_]*.py")]
    load = "import db.dump, db.sample; assert len(db.dump.read_dump(db.sample.NORTHWIND)) == 14"
    shipped = stage("db", "plugins", staging=tmp_path)
    program = "\n".join([*(f"import stacks.handlers.{name}" for name in names), load])
    subprocess.run([sys.executable, "-c", program], cwd=shipped, check=True, env={"AWS_DEFAULT_REGION": "eu-central-1"})
