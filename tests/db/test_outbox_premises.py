"""Writes that an outbox could overlook, and the commands of docs/your-database/outbox.md."""

import re
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from typer.testing import CliRunner

from cli.__main__ import app
from tests.db.conftest import Sessions, Shop
from tests.db.expected import HIDDEN
from tests.db.test_outbox_concurrency import FLUSH, assert_the_second_waits
from tests.db.test_outbox_transaction import changes

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("left_consistent")]


# Table, a column that events show, its key, and the row that is replaced by one with another value there.
EMBEDDED = {
    "customers": ("company_name", "customer_id", "'VINET'"),
    "employees": ("last_name", "employee_id", "5"),
    "shippers": ("company_name", "shipper_id", "3"),
    "products": ("product_name", "product_id", "11"),
    "suppliers": ("company_name", "supplier_id", "5"),
    "categories": ("category_name", "category_id", "4"),
    "territories": ("territory_description", "territory_id", "(SELECT min(territory_id) FROM employee_territories)"),
    "region": ("region_description", "region_id", "1"),
}
OWN = {
    "order_details": "INSERT INTO order_details SELECT order_id, product_id, 77, quantity, discount FROM gone",
    "employee_territories": "INSERT INTO employee_territories SELECT 6, territory_id FROM gone"
    " WHERE territory_id NOT IN (SELECT territory_id FROM employee_territories WHERE employee_id = 6)",
    "orders": "INSERT INTO orders (order_id, freight, customer_id) SELECT order_id, 77, customer_id FROM gone",
}
OWN_KEY = {
    "orders": "order_id = 10248",
    "order_details": "order_id = 10248",
    "employee_territories": "employee_id = 5",
}


def columns(shop: Shop, table: str) -> list[str]:
    query = f"SELECT column_name FROM information_schema.columns WHERE table_name = '{table}' ORDER BY ordinal_position"
    return [str(name) for name in shop.values(query)]


def replacement(shop: Shop, table: str) -> str:
    """Delete a row and insert one with the same key and another name, in one statement."""
    if table in OWN:
        return f"WITH gone AS (DELETE FROM {table} WHERE {OWN_KEY[table]} RETURNING *) {OWN[table]}"
    shown, key, value = EMBEDDED[table]
    chosen = ", ".join("'Replaced'" if name == shown else name for name in columns(shop, table))
    delete = f"DELETE FROM {table} WHERE {key} = {value} RETURNING *"
    return f"WITH gone AS ({delete}) INSERT INTO {table} SELECT {chosen} FROM gone"


def test_a_row_replaced_in_one_statement_reaches_its_orders(shop: Shop) -> None:
    for table in (*EMBEDDED, *OWN):
        if table == "orders":
            shop.commit("DELETE FROM order_details WHERE order_id = 10248")
        events = shop.commit(replacement(shop, table)) + shop.drain()
        assert events, table
        shop.assert_consistent()


@pytest.mark.parametrize(
    "statement",
    [
        "MERGE INTO customers c USING (SELECT 'VINET' AS id, n FROM generate_series(1, 2) AS n) AS v"
        " ON c.customer_id = v.id AND v.n = 1"
        " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (customer_id, company_name) VALUES (v.id, 'Merged')",
        "INSERT INTO shippers VALUES (3, 'Upserted'), (99, 'New') ON CONFLICT (shipper_id)"
        " DO UPDATE SET company_name = excluded.company_name",
    ],
)
def test_rows_that_are_merged_or_upserted_reach_their_orders(shop: Shop, statement: str) -> None:
    assert {event.op for event in shop.commit(statement)} == {"u"}


def test_each_column_that_events_show_makes_events_and_no_other(shop: Shop) -> None:
    values = {"bytea": "'\\x01'", "date": "'2001-01-01'", "real": "77", "smallint": "7", "integer": "7"}
    for table, (_, key, value) in EMBEDDED.items():
        for column in columns(shop, table):
            if column == key:
                continue
            changed = values.get(shop.value(f"SELECT pg_typeof({column})::text FROM {table}"), "'X'")
            if column == "region_id":
                changed = "region_id % 4 + 1"
            events = shop.commit(f"UPDATE {table} SET {column} = {changed} WHERE {key} = {value}") + shop.drain()
            assert bool(events) == (column not in HIDDEN.get(table, ())), f"{table}.{column}"


def test_stock_can_be_sold_while_somebody_edits_a_product(shop: Shop) -> None:
    editor = shop.connect()
    with editor, editor.cursor() as cursor:
        cursor.execute("UPDATE suppliers SET city = 'X' WHERE supplier_id = 5")
        cursor.execute(FLUSH)
        # The editor is alone in the gate now; stock isn't involved there.
        assert (
            shop.commit("SET lock_timeout = '5s'", "UPDATE products SET units_in_stock = 1, units_on_order = 2") == []
        )


def test_what_another_trigger_writes_is_seen(shop: Shop) -> None:
    shop.run(
        "CREATE FUNCTION theirs() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN UPDATE datalake.customers"
        " SET fax = NEW.freight WHERE customer_id = NEW.customer_id; RETURN NULL; END $$"
    )
    shop.run("CREATE TRIGGER a AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION theirs()")
    shop.run(
        "CREATE CONSTRAINT TRIGGER b AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION theirs()"
    )
    assert len(shop.commit("UPDATE orders SET freight = 3 WHERE order_id = 10248")) > 1
    # This one writes at commit, perhaps after the outbox has been written.
    shop.commit("INSERT INTO orders (order_id, customer_id, freight) VALUES (1, 'VINET', 4)")


def test_an_embedded_row_may_come_late_without_a_foreign_key(shop: Shop, sessions: Sessions) -> None:
    shop.run("ALTER TABLE orders DROP CONSTRAINT fk_orders_customers")
    order = "INSERT INTO orders (order_id, customer_id) VALUES (1, 'LATE')"
    assert_the_second_waits(sessions, order, "INSERT INTO customers VALUES ('LATE', 'Late')")
    assert changes(shop.commit("DELETE FROM customers WHERE customer_id = 'LATE'"))[-1] == ("u", 1)


def test_or_when_it_is_checked_at_commit(shop: Shop) -> None:
    shop.run("ALTER TABLE orders ALTER CONSTRAINT fk_orders_customers DEFERRABLE INITIALLY DEFERRED")
    shop.commit("DELETE FROM customers WHERE customer_id = 'VINET'", "INSERT INTO customers VALUES ('VINET', 'Again')")


def test_or_when_it_was_never_checked(shop: Shop) -> None:
    shop.run("ALTER TABLE orders DROP CONSTRAINT fk_orders_customers")
    shop.commit("INSERT INTO orders (order_id, customer_id) VALUES (1, 'LATE')")
    shop.run(
        "ALTER TABLE orders ADD CONSTRAINT fk_orders_customers FOREIGN KEY (customer_id) REFERENCES customers NOT VALID"
    )
    assert changes(shop.commit("INSERT INTO customers VALUES ('LATE', 'Late')")) == [("u", 1)]


def test_a_new_customer_keeps_no_sale_waiting(sessions: Sessions) -> None:
    sale, customer = sessions(), sessions()
    sale.run("UPDATE order_details SET quantity = 99 WHERE order_id = 10248", FLUSH)
    customer.run("INSERT INTO customers VALUES ('NEWCU', 'New')", "COMMIT")
    sale.run("COMMIT")


def test_truncating_the_outbox_is_refused_whatever_the_role(shop: Shop) -> None:
    for role in ("origin", "replica"):
        with pytest.raises(psycopg2.errors.FeatureNotSupported, match=r"TRUNCATE of datalake\.cdc_events is refused"):
            shop.run(f"SET session_replication_role = {role}; TRUNCATE cdc_events")
    shop.run("SET session_replication_role = origin")
    assert changes(shop.commit("DELETE FROM cdc_events WHERE order_id = 10248")) == [("d", 10248)]
    assert changes(shop.commit("CALL usp_init_order_events()")) == [("c", 10248)]


ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "your-database" / "outbox.md"


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
    # Events show a supplier's columns by name, and this one isn't among them.
    shop.run("ALTER TABLE suppliers DROP COLUMN vat")


def test_a_retyped_column_is_refused_without_the_procedure_and_in_all_events_with_it(shop: Shop) -> None:
    [block] = commands("Retype a column")
    with pytest.raises(psycopg2.Error, match="cannot alter type of a column used by a view or rule"):
        shop.run("ALTER TABLE datalake.products ALTER COLUMN unit_price TYPE NUMERIC(12, 4)")
    run(shop, block)
    shop.commit("UPDATE products SET unit_price = 1.2345 WHERE product_id = 11")
    assert product_of(shop)["unit_price"] == 1.2345


def test_a_dropped_column_leaves_all_events(shop: Shop) -> None:
    [block] = commands("Drop or rename a column")
    run(shop, block)
    assert shop.value("SELECT count(*) FROM cdc_events WHERE customer ? 'fax'") == 0
    assert shop.value("SELECT count(*) FROM cdc_events WHERE customer ? 'phone'") == 829


def test_a_column_that_the_views_name_stays_and_sales_go_on(shop: Shop) -> None:
    with pytest.raises(psycopg2.Error, match="does not exist"):
        shop.run("CALL datalake.usp_alter_source('ALTER TABLE datalake.orders DROP COLUMN freight')")
    assert len(shop.commit("UPDATE orders SET freight = 4711 WHERE order_id = 10248")) == 1


def test_tables_that_stay_in_use_are_given_up_with_nothing_changed(shop: Shop) -> None:
    till = shop.connect()
    with till.cursor() as cursor:
        cursor.execute("UPDATE products SET unit_price = 1 WHERE product_id = 11")
        with pytest.raises(psycopg2.errors.LockNotAvailable, match="the table products is in use"):
            shop.run("CALL usp_alter_source('ALTER TABLE customers DROP COLUMN fax', patience => '1 second')")
    till.commit()
    assert shop.value("SELECT count(*) FROM information_schema.columns WHERE column_name = 'fax'") >= 1


def test_the_command_migrates_and_says_what_it_did(shop: Shop) -> None:
    [block] = commands("Drop or rename a column", "sh")
    argv = block.split()
    assert argv[:3] == ["./lake", "source", "migrate"]
    given: dict[str, Any] = {**shop.parameters}
    for option in ("host", "port", "dbname", "user"):
        argv[argv.index(f"--{option}") + 1] = str(given[option])
    shop.run("UPDATE outbox_versions SET sql_hash = 'earlier'")
    for says in ("migrated, 829 orders' rows looked at", "up to date already"):
        done = CliRunner().invoke(app, argv[1:], env={"PGPASSWORD": given["password"]})
        assert (done.exit_code, done.stdout.strip(), done.stderr) == (0, says, "")
