"""The commands of docs/your-database/outbox.md, run as written there."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from tests.db.conftest import Shop

pytestmark = pytest.mark.integration
ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "your-database" / "outbox.md"
DIFFERENT = (
    "SELECT count(*) FROM current_order_events v FULL JOIN cdc_events e USING (order_id)"
    " WHERE (v.products, v.customer, v.order_items) IS DISTINCT FROM (e.products, e.customer, e.order_items)"
)


def commands(heading: str, language: str = "sql") -> list[str]:
    """The blocks of a section of the page, as lists of statements."""
    section = re.split(r"^### ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    [text] = [part for part in section if part.startswith(heading)]
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def run(shop: Shop, block: str) -> None:
    """Run a block's statements one by one, as psql does."""
    for statement in block.strip().split(";\n"):
        shop.run(statement)


def product_of(shop: Shop) -> dict[str, Any]:
    found: dict[str, Any] = shop.value("SELECT products -> 0 FROM cdc_events WHERE order_id = 10248")
    return found


def test_an_added_column_is_in_all_events(shop: Shop) -> None:
    added, shown = commands("Add a column")
    run(shop, added)
    assert product_of(shop)["colour"] is None
    shop.run("UPDATE products SET colour = 'red' WHERE product_id = 11")
    assert product_of(shop)["colour"] == "red"
    shop.run("ALTER TABLE suppliers ADD COLUMN vat TEXT DEFAULT 'none'")
    shop.run("ALTER TABLE customers ADD COLUMN vat TEXT DEFAULT 'none'")
    run(shop, shown)
    assert shop.value("SELECT customer ->> 'vat' FROM cdc_events WHERE order_id = 10248") == "none"
    assert shop.value(DIFFERENT) == 0


def test_a_retyped_column_is_refused_without_the_procedure_and_in_all_events_with_it(shop: Shop) -> None:
    [block] = commands("Retype a column")
    with pytest.raises(psycopg2.Error, match="cannot alter type of a column used by a view or rule"):
        shop.run("ALTER TABLE datalake.products ALTER COLUMN unit_price TYPE NUMERIC(12, 4)")
    run(shop, block)
    shop.commit("UPDATE products SET unit_price = 1.2345 WHERE product_id = 11")
    assert product_of(shop)["unit_price"] == 1.2345
    assert shop.value(DIFFERENT) == 0


def test_a_dropped_column_leaves_all_events(shop: Shop) -> None:
    [block] = commands("Drop or rename a column")
    run(shop, block)
    assert shop.value("SELECT count(*) FROM cdc_events WHERE customer ? 'fax'") == 0
    assert shop.value("SELECT count(*) FROM cdc_events WHERE customer ? 'phone'") == 829
    assert shop.value(DIFFERENT) == 0


def test_a_column_that_the_views_name_stays_and_sales_go_on(shop: Shop) -> None:
    with pytest.raises(psycopg2.Error, match="does not exist"):
        shop.run("CALL datalake.usp_alter_source('ALTER TABLE datalake.orders DROP COLUMN freight')")
    assert len(shop.commit("UPDATE orders SET freight = 4711 WHERE order_id = 10248")) == 1
    shop.assert_consistent()


def test_tables_that_stay_in_use_are_given_up_with_nothing_changed(shop: Shop) -> None:
    till = shop.connect()
    with till.cursor() as cursor:
        cursor.execute("UPDATE products SET unit_price = 1 WHERE product_id = 11")
        with pytest.raises(psycopg2.errors.LockNotAvailable, match="the table products is in use"):
            shop.run("CALL usp_alter_source('ALTER TABLE customers DROP COLUMN fax', patience => '1 second')")
    till.commit()
    assert shop.value("SELECT count(*) FROM information_schema.columns WHERE column_name = 'fax'") >= 1
    shop.assert_consistent()


def test_the_command_migrates_and_says_what_it_did(shop: Shop) -> None:
    [block] = commands("Drop or rename a column", "sh")
    argv = block.split()
    assert argv[:3] == ["./lake", "source", "migrate"]
    given: dict[str, Any] = {**shop.parameters}
    for option in ("host", "port", "dbname", "user"):
        argv[argv.index(f"--{option}") + 1] = str(given[option])
    shop.run("UPDATE outbox_versions SET sql_hash = 'earlier'")
    for says in ("migrated, 829 orders' rows looked at", "up to date already"):
        done = subprocess.run(
            [sys.executable, "-m", "cli", *argv[1:]],
            cwd=ROOT,
            env={"PGPASSWORD": given["password"]},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout.strip(), done.stderr) == (0, says, "")
