"""docs/your-database.md shows what the commands write and say, on a database of its own."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import psycopg2
import pytest
from psycopg2 import sql

from local.services.postgres import ConnectionParameters, Postgres
from tests.capture.test_commands import Folder, forget_role
from tests.conftest import execute

pytestmark = pytest.mark.integration

PAGE = Path(__file__).resolve().parents[2] / "docs" / "your-database.md"
SHOP = Path(__file__).with_name("shop.sql")


@pytest.fixture
def shop(postgres: Postgres) -> Iterator[ConnectionParameters]:
    """The page's database has a name."""
    admin = postgres.connection_parameters()
    execute(admin, "CREATE DATABASE shop")
    parameters = postgres.connection_parameters("shop")
    try:
        execute(parameters, SHOP.read_text(encoding="utf-8"))
        yield parameters
        forget_role(parameters)
    finally:
        execute(admin, sql.SQL("DROP DATABASE shop WITH (FORCE)"))
        with contextlib.suppress(psycopg2.errors.UndefinedObject, psycopg2.errors.DependentObjectsStillExist):
            execute(admin, "DROP ROLE cdc_connector")


def shown(fence: str, beginning: str) -> str:
    """The page's block that begins so, without its fences."""
    blocks = PAGE.read_text(encoding="utf-8").split(f"```{fence}\n")[1:]
    return next(block.split("```")[0] for block in blocks if block.startswith(beginning))


def test_the_page_shows_what_the_commands_say(
    tmp_path: Path, shop: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Folder(tmp_path, shop, monkeypatch)
    said = folder.run("describe", name="shop").stdout
    before_sql, _, _ = said.partition("\nBEGIN;")
    command = "$ ./lake source describe shop --dsn postgresql://me@localhost/shop\n"
    assert command + before_sql.replace("seen as postgres", "seen as me") == shown(
        "console", "$ ./lake source describe"
    )
    assert (tmp_path / "shop.toml").read_text(encoding="utf-8") == shown("toml", "# What is captured")
    done = folder.run("prepare", name="shop", CDC_CONNECTOR_PASSWORD="Secret/1").stdout
    command = "$ ./lake source prepare shop --dsn postgresql://me@localhost/shop\n"
    assert command + done == shown("console", "$ ./lake source prepare")
