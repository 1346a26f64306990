"""The assets of Lambda functions: handlers, which prepare a database again when their preparation code changes; layers.

An installed layer is found; a missing one is reported in one line.
"""

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from botocore import loaders

from operate.diff import snapshots
from operate.diff.normal_form import text_of
from settings.load import load
from stacks import lambda_assets
from stacks.lambda_assets import KAFKA, PSYCOPG2, ROOT, WheelError, sql_hash, stage

MODULE = "preparation"
# Not run by any preparation.
OTHERS = {f"db/source/{name}.py" for name in ("deletes", "signals")}
WRITES_SQL = {path.relative_to(ROOT).as_posix() for path in (ROOT / "db" / "source").glob("[!_]*.py")} - OTHERS


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of all that the handlers import of this project."""
    root = tmp_path_factory.mktemp("code")
    for folder in ("contract", "db", "stacks/handlers"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return root


@pytest.fixture(scope="module")
def unchanged(code: Path) -> str:
    return sql_hash(MODULE, code)


def changed(code: Path, file: str, line: str) -> str:
    """The hash with one more line in one file."""
    text = (code / file).read_text()
    try:
        (code / file).write_text(f"{text}\n{line}\n")
        sql_hash.cache_clear()
        return sql_hash(MODULE, code)
    finally:
        (code / file).write_text(text)


@pytest.mark.parametrize(
    ("file", "line", "again"),
    [
        ("db/sql/07_replication.sql", "CHANGED = 1", True),
        ("db/source/plan.py", "CHANGED = 1", True),
        ("db/source/plan.py", "# Changed.", False),
        ("contract/metrics.py", "CHANGED = 1", False),
    ],
)
def test_other_sql_or_code_that_writes_it_prepares_again(
    code: Path, unchanged: str, file: str, line: str, *, again: bool
) -> None:
    assert (changed(code, file, line) != unchanged) is again


def test_all_code_that_writes_sql_counts_and_nothing_that_no_preparation_runs() -> None:
    start = ROOT / "stacks" / "handlers" / f"{MODULE}.py"
    counted = {path.relative_to(ROOT).as_posix() for path in lambda_assets._imported(start, ROOT)}
    more = {"contract/source.py", "db/connecting.py", "db/outbox.py", "db/migrating.py"}
    assert counted >= WRITES_SQL | more
    assert not counted & {"contract/metrics.py", *OTHERS}


@pytest.mark.parametrize("environment", ["dev", "prod", "sandbox"])
def test_the_snapshots_have_the_hash_of_now(environment: str) -> None:
    """Here because a change in `db` shows in no other unit test that the templates change, too."""
    text = text_of(snapshots.read(load(environment))["database"])
    assert re.findall(r'"sqlHash": "(\w+)"', text) == [sql_hash(MODULE)], "run `./lake aws synth --save`"


def test_what_is_shipped_has_all_that_its_handlers_import_and_the_sample_rows(tmp_path: Path) -> None:
    names = [path.stem for path in (ROOT / "stacks" / "handlers").glob("[!_]*.py")]
    program = [
        *(f"import stacks.handlers.{name}" for name in names),
        "import db.dump, db.sample, sys; assert len(db.dump.read_dump(db.sample.NORTHWIND)) == 14",
        # No CDK, and none of the command lines.
        "assert not {'aws_cdk', 'typer', 'rich', 'pydantic', 'mypy_boto3_kafkaconnect'} & sys.modules.keys()",
    ]
    run_in(stage("db", "plugins", staging=tmp_path), *program)
    run_in(stage(staging=tmp_path), "import stacks.handlers.emr_step")


def run_in(shipped: Path, *program: str) -> None:
    """Run a program where only what is shipped is found."""
    command = [sys.executable, "-c", "\n".join(program)]
    subprocess.run(command, cwd=shipped, check=True, env={"AWS_DEFAULT_REGION": "eu-central-1"})


def test_lambda_takes_the_staged_api_model(tmp_path: Path) -> None:
    staged = stage(staging=tmp_path)
    # AWS_DATA_PATH, as botocore reads it.
    loader = loaders.create_loader(str(staged / lambda_assets.MODELS))
    model, path = loader.load_data_with_path("kafkaconnect/2021-09-14/service-2")
    assert Path(path).is_relative_to(staged)
    members = model["shapes"]["UpdateConnectorRequest"]["members"]
    assert {"plugins", "workerConfiguration", "skipHealthValidation"} <= members.keys()


PINNED = """requests==1.0 \\
    --hash=sha256:aa
psycopg2-binary==2.9.13 \\
    --hash=sha256:bb \\
    --hash=sha256:cc
zzz==1
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the layers, next to a lock."""
    (tmp_path / "requirements.txt").write_text(PINNED)
    monkeypatch.setattr(lambda_assets, "REQUIREMENTS", tmp_path / "requirements.txt")
    folder = tmp_path / "cache" / "layers"
    monkeypatch.setattr(lambda_assets, "CACHE", folder)
    return folder


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """A pip that installs a wheel into the given folder; returns its calls. `make setup` calls the real one."""
    calls: list[list[str]] = []

    def run(command: list[str], **_: Any) -> "subprocess.CompletedProcess[str]":
        calls.append(command)
        folder = Path(command[command.index("--dest") + 1])
        assert (folder / "requirements.txt").read_text() == (
            "psycopg2-binary==2.9.13 \\\n    --hash=sha256:bb \\\n    --hash=sha256:cc\n"
        )
        with zipfile.ZipFile(folder / "psycopg2_binary-2.9.13-cp311.whl", "w") as archive:
            archive.writestr("psycopg2/__init__.py", "")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    return calls


@pytest.mark.usefixtures("cache")
def test_a_layer_that_isnt_there_is_one_line() -> None:
    with pytest.raises(WheelError, match=r"psycopg2-binary for Lambda isn't in cache/layers: run `make setup`"):
        lambda_assets.layer_folder(PSYCOPG2)


def test_it_is_fetched_once_for_lambda_with_its_hashes(cache: Path, pip: list[list[str]]) -> None:
    folder = lambda_assets.fetch(PSYCOPG2)
    assert lambda_assets.fetch(PSYCOPG2) == folder
    assert lambda_assets.layer_folder(PSYCOPG2) == folder
    assert (folder / "python" / "psycopg2" / "__init__.py").is_file()
    assert [path.name for path in cache.iterdir()] == [folder.name]
    assert len(pip) == 1
    assert {"--require-hashes", "--only-binary=:all:", "manylinux2014_x86_64"} <= set(pip[0])


@pytest.mark.usefixtures("cache")
def test_one_that_another_process_fetches_meanwhile_stays_whole(
    pip: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = lambda_assets.fetch(PSYCOPG2)
    monkeypatch.setattr(Path, "is_dir", lambda path: path != folder or len(pip) > 1)
    assert lambda_assets.fetch(PSYCOPG2) == folder
    assert ([path.name for path in folder.iterdir()], len(pip)) == (["python"], 2)


@pytest.mark.usefixtures("cache")
def test_another_version_is_another_layer(pip: list[list[str]]) -> None:
    lambda_assets.fetch(PSYCOPG2)
    lambda_assets.REQUIREMENTS.write_text(PINNED.replace("2.9.13", "2.9.14"))
    with pytest.raises(WheelError, match="make setup"):
        lambda_assets.layer_folder(PSYCOPG2)
    assert len(pip) == 1


def test_pips_reason_is_shown(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "WARNING: slow\nERROR: THESE PACKAGES DO NOT MATCH THE HASHES\n")
    monkeypatch.setattr(subprocess, "run", lambda *_args, **_options: failed)
    with pytest.raises(WheelError, match="ERROR: THESE PACKAGES DO NOT MATCH THE HASHES"):
        lambda_assets.fetch(PSYCOPG2)
    assert list(cache.iterdir()) == []


@pytest.mark.usefixtures("cache")
def test_a_lock_without_it_says_so() -> None:
    lambda_assets.REQUIREMENTS.write_text("requests==1.0\n")
    with pytest.raises(WheelError, match="doesn't pin psycopg2-binary"):
        lambda_assets.layer_folder(PSYCOPG2)


# Lambda's own limit for a function with its layers, unzipped.
LARGEST_FUNCTION_BYTES = 250 * 1024**2


@pytest.mark.synth
def test_kafkas_client_fits_into_lambda_with_its_login() -> None:
    folder = lambda_assets.layer_folder(KAFKA) / "python"
    for name in ("confluent_kafka", "aws_msk_iam_sasl_signer"):
        assert (folder / name / "__init__.py").is_file()
    # The signer looks up its own version.
    assert list(folder.glob("aws_msk_iam_sasl_signer_python-*.dist-info/METADATA"))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert size < LARGEST_FUNCTION_BYTES / 5


def test_a_wheel_runs_on_the_system_that_lambda_has_for_its_python() -> None:
    """PEP 600: manylinux_x_y runs on glibc x.y or newer. Lambda has 2.26 up to Python 3.11, then 2.34."""
    glibc = {"3.11": (2, 26), "3.12": (2, 34)}
    wanted = {"manylinux2014_x86_64": (2, 17), "manylinux_2_28_x86_64": (2, 28)}
    for layer in lambda_assets.LAYERS:
        assert wanted[layer.platform] <= glibc[layer.python_version]
