"""docs/your-database/capture.md shows what the commands write and print, on its own database."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg2 import sql

from local.services.postgres import ConnectionParameters, Postgres
from tests.capture.test_commands import Folder
from tests.conftest import execute
from tests.transcripts import first_difference, transcript

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("no_role")]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "your-database" / "capture.md"
SHOP = Path(__file__).with_name("shop.sql")
OF_SHOP = "shop --dsn postgresql://me@localhost/shop"


@pytest.fixture
def shop(postgres: Postgres) -> Iterator[ConnectionParameters]:
    """The page names its database."""
    admin = postgres.connection_parameters()
    execute(admin, "CREATE DATABASE shop")
    parameters = postgres.connection_parameters("shop")
    try:
        execute(parameters, SHOP.read_text(encoding="utf-8"))
        yield parameters
    finally:
        execute(admin, sql.SQL("DROP DATABASE shop WITH (FORCE)"))


def test_the_page_shows_the_output(tmp_path: Path, shop: ConnectionParameters, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder(tmp_path, shop, monkeypatch)
    described = folder.run("describe", name="shop").stdout.replace("seen as postgres", "seen as me")
    assert not first_difference(transcript(PAGE, f"./lake source describe {OF_SHOP}"), described)
    [entries] = re.findall(
        r"^```toml\n(# in the lake.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert not first_difference(entries, (tmp_path / "shop.toml").read_text(encoding="utf-8"))
    prepared = folder.run("prepare", name="shop", CDC_CONNECTOR_PASSWORD="Secret/1").stdout
    assert not first_difference(transcript(PAGE, f"./lake source prepare {OF_SHOP}"), prepared)
