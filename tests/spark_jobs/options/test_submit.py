"""Starting the job: its command lines, its archive, and the boto3 in it."""

import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from spark_jobs.options import command_line, keys, properties, settings, submit
from spark_jobs.options.settings import FileSettings
from spark_jobs.options.table_list import TableList
from spark_jobs.runtime import archive
from tests.spark_jobs.events import ROOT
from tests.spark_jobs.options.test_table_list import first

JOB = submit.TableJob(
    landing="s3://landing/cdc-events/",
    table_path="s3://lake/cdc_events",
    database="datalake",
    table="cdc_events",
    schema_file="s3://assets/1.avsc",
    properties_file="s3://assets/2.properties",
    configuration={keys.STOP_FILE: "s3://artefacts/stop/1", keys.METRICS_NAMESPACE: "dev"},
)


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_the_job_understands_its_arguments(table_type: str) -> None:
    given = command_line.parse(submit.job_arguments(replace(JOB, table_type=table_type, sync_interval_seconds=7)))
    file = [(keys.RECORD_KEY, "order_id"), (keys.STOP_FILE, "overridden")]
    warnings: list[str] = []
    overrides = properties.parse_overrides(given.hoodie_conf)
    decided = settings.decide(given, properties.combine(file, overrides), warnings.append)
    assert isinstance(decided.source, FileSettings)
    assert decided.source.root == "s3://landing/cdc-events"
    assert decided.table.table_type == table_type
    assert (decided.stop_file, decided.metrics_namespace) == ("s3://artefacts/stop/1", "dev")
    assert decided.sync is not None
    assert decided.options.min_sync_interval_seconds == 7
    assert decided.options.continuous
    assert warnings == []


def test_what_a_submission_of_many_writes_is_what_the_application_reads() -> None:
    own = {keys.RECORD_KEY: "id", keys.QUARANTINE_PATH: "s3://q/a=b#c!\\d"}
    job = replace(JOB, landing="s3://landing/shop.public.odd name:x", ordering_field="seq", configuration=own)
    files = {
        "2.properties": "hoodie.metadata.enable=false\n",
        "job.properties": submit.table_properties(replace(job, sync_interval_seconds=7, table_type="MERGE_ON_READ")),
        "list.properties": submit.list_properties(
            {job.name: "s3://assets/job.properties"}, {keys.METRICS_NAMESPACE: "dev"}
        ),
    }
    arguments = submit.multi_table_arguments(
        properties_file="s3://assets/list.properties",
        config_folder="s3://assets",
        base_path_prefix="s3://lake",
        configuration={keys.STOP_FILE: "s3://b/stop"},
    )
    found = TableList(command_line.parse_many(arguments), lambda path: files[path.removeprefix("s3://assets/")])
    decided = first(found)
    table = decided.table
    assert isinstance(decided.source, FileSettings)
    assert (found.stop_file, found.metrics_namespace) == ("s3://b/stop", "dev")
    assert decided.source.root == job.landing
    assert (table.base_path, table.table_type, table.ordering_field) == (job.table_path, "MERGE_ON_READ", "seq")
    assert (decided.options.min_sync_interval_seconds, decided.options.continuous) == (7, True)
    assert decided.quarantine_path == "s3://q/a=b#c!\\d"
    assert table.write_options["hoodie.metadata.enable"] == "false"


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shipped") / "new" / "a.zip"
    archive.build_archive(path)
    return path


def test_equal_sources_make_an_equal_archive(shipped: Path) -> None:
    content, before = shipped.read_bytes(), shipped.stat().st_mtime_ns
    archive.build_archive(shipped)
    assert (shipped.read_bytes(), shipped.stat().st_mtime_ns) == (content, before)


def test_the_archive_has_every_module_and_no_other_file(shipped: Path) -> None:
    with zipfile.ZipFile(shipped) as packed:
        names = set(packed.namelist())
    ours = [path for folder in ("contract", "spark_jobs") for path in (ROOT / folder).rglob("*.py")]
    ours += [ROOT / "spark_jobs" / "options" / name for name in ("hudi_keys.txt", "refused.tsv")]
    ours.append(ROOT / "spark_jobs" / "runtime" / "RememberingFileSystem.java")
    ours.append(ROOT / "contract" / "rds-ca.pem")
    modules = {path.relative_to(ROOT).as_posix() for path in ours}
    libraries = {name for name in names if name.startswith(f"{archive.LIBRARIES}/")}
    assert names - libraries == modules
    assert {name.split("/")[1].removesuffix(".py") for name in libraries} == set(archive.PACKAGES)
    models = {
        name.split("/")[3] for name in libraries if name.startswith("aws_sdk/botocore/data/") and name.count("/") > 3
    }
    assert models == set(archive.SERVICES)
    assert shipped.stat().st_size < 3_000_000


def test_every_module_runs_from_the_archive_and_finds_its_files_there(shipped: Path) -> None:
    """A job on this machine runs from the checkout."""
    program = f"""
import importlib, importlib.resources, sys, zipfile
sys.path.insert(0, {str(shipped)!r})
from contract import rds_ca
for name in zipfile.ZipFile({str(shipped)!r}).namelist():
    folder, _, file = name.rpartition("/")
    package = folder.replace("/", ".")
    if file.endswith(".py") and folder.startswith({archive.OURS!r}):
        module = importlib.import_module(package if file == "__init__.py" else f"{{package}}.{{file[:-3]}}")
        assert module.__file__ == f"{shipped}/{{name}}", module
    elif folder.startswith({archive.OURS!r}):
        assert importlib.resources.files(package).joinpath(file).read_text(), name
assert rds_ca.roots()
"""
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_python_without_boto3_takes_it_from_the_archive(shipped: Path) -> None:
    """In isolation: no site packages, as on EMR, where the archive is on the path of `--py-files`."""
    program = f"""
import sys
sys.path.insert(0, {str(shipped)!r})
from spark_jobs.runtime import archive
folder = archive.use_shipped(archive.__loader__)
import boto3
assert boto3.__file__.startswith(folder.name), boto3.__file__
for service in {archive.SERVICES!r}:
    boto3.client(service, region_name="ap-southeast-2")
folder.cleanup()
"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_without_an_archive_nothing_is_unpacked() -> None:
    before = list(sys.path)
    assert archive.use_shipped(archive.__loader__) is None
    assert sys.path == before
