"""The demos, and the platforms that they leave running, which most end-to-end tests share; databases of others."""

from collections.abc import Iterator

import pytest

from local.platform.platform import Platform
from local.services.postgres import ConnectionParameters, Postgres
from local.services.spark import spark_flags
from tests.conftest import execute, fresh_database
from tests.e2e.commands import Commands, Walked, walked
from tests.spark_jobs.programs import class_archive_flags


@pytest.fixture(scope="session", autouse=True)
def jobs_start_fast() -> Iterator[None]:
    """Let this process's jobs use the archive of their classes, if tests/spark_jobs has made one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("local.services.spark.spark_flags", lambda: [*spark_flags(), *class_archive_flags()])
        yield


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walked]:
    folder = tmp_path_factory.mktemp("Größe 1") / "demo"
    folder.mkdir()
    with walked("demo", folder) as demo:
        yield demo


@pytest.fixture(scope="session")
def demo_query(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walked]:
    with walked("demo places", tmp_path_factory.mktemp("demo-query")) as demo:
        yield demo


@pytest.fixture(scope="session")
def platform(demo: Walked) -> Platform:
    return Platform(demo.folder / "platform")


@pytest.fixture(scope="session")
def places(demo_query: Walked) -> Platform:
    return Platform(demo_query.folder / "platform")


@pytest.fixture(scope="module")
def source(request: pytest.FixtureRequest, postgres: Postgres) -> Iterator[ConnectionParameters]:
    """A database made by the statements MAKING of the tests' module, which share it."""
    with fresh_database(postgres) as database:
        execute(database, request.module.MAKING)
        yield database


@pytest.fixture(scope="module")
def make(
    request: pytest.FixtureRequest, source: ConnectionParameters, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Commands]:
    """The commands of the pipeline NAME of the tests' module, which captures that database."""
    name = request.module.NAME
    with Commands(tmp_path_factory.mktemp(name) / "checkout", name, source).removed() as commands:
        yield commands
