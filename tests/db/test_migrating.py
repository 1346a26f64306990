"""An outbox is migrated in place while users write; a failure changes nothing."""

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from contract.sizes import MIB
from db import migrating, outbox
from db.connecting import LaterError, LoadError, NewerError
from db.migrating import migrate
from local.services.postgres import Postgres
from tests import cases
from tests.db.conftest import Shop, Template, shop_copy, writers_at_work
from tests.db.earlier import Mode, make_earlier
from tests.db.test_outbox_guards import MANY_LINES
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.integration

# Views, routines, triggers, tables and rights: everything but rows and names that the server generates.
CATALOGUE = """
SELECT 'view ' || c.oid::regclass || pg_get_viewdef(c.oid) FROM pg_class c
WHERE c.relkind = 'v' AND c.relnamespace = 'datalake'::regnamespace
UNION ALL SELECT 'routine ' || pg_get_functiondef(p.oid) || coalesce(p.proacl::text, '') FROM pg_proc p
WHERE p.pronamespace = 'datalake'::regnamespace
UNION ALL SELECT 'trigger ' || pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE NOT t.tgisinternal AND c.relnamespace = 'datalake'::regnamespace
UNION ALL SELECT format('column %s %s %s %s %s', table_name, ordinal_position, column_name, data_type, is_nullable)
FROM information_schema.columns WHERE table_schema = 'datalake'
UNION ALL SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = 'datalake'
UNION ALL SELECT format('published %s %s', pubname, tablename) FROM pg_publication_tables
UNION ALL SELECT format('table %s %s %s %s', relname, relreplident, relpersistence, reloptions) FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'datalake'::regnamespace
ORDER BY 1
"""


DIFFERENT = (
    "SELECT count(*) FROM current_order_events v FULL JOIN cdc_events e USING (order_id)"
    " WHERE to_jsonb(v) IS DISTINCT FROM to_jsonb(e) - 'updated_at'"
)


@pytest.fixture
def earlier(shop: Shop) -> Shop:
    """A database as an earlier version left it."""
    make_earlier(shop.parameters)
    return shop


@pytest.fixture
def sql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the SQL folder that a test may change, as a newer release would."""
    folder = tmp_path / "sql"
    shutil.copytree(outbox.SQL_FOLDER, folder)
    monkeypatch.setattr(outbox, "SQL_FOLDER", folder)
    forget()
    yield folder
    monkeypatch.undo()
    forget()


def forget() -> None:
    """Drop the cached files."""
    for function in (outbox._steps, outbox._sql_hash):
        function.cache_clear()


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    forget()


def catalogue(shop: Shop) -> list[str]:
    return [str(row) for row in shop.values(CATALOGUE)]


def statements(number: int, turn: int, order_id: int | None = None) -> list[str]:
    """A sale, with its stock first or last, and then a shipment or a rename."""
    order_id = order_id or 20_000 + 10_000 * number + turn
    sale = [
        f"INSERT INTO orders (order_id, customer_id, employee_id, ship_via) VALUES ({order_id}, 'RICSU', 8, 2)",
        f"INSERT INTO order_details VALUES ({order_id}, {1 + number}, 1, 1, 0)",
    ]
    # Of a product outside the sales above: it always rewrites the same number of rows.
    stock = [f"UPDATE products SET unit_price = {turn} WHERE product_id = {70 + number}"]
    other = f"UPDATE customers SET phone = '{turn}' WHERE customer_id = 'A{number}'"
    shipment = f"UPDATE orders SET freight = {turn} WHERE order_id = {10248 + number}"
    return [*stock, *sale, shipment] if number % 2 else [*sale, other, *stock]


@pytest.mark.parametrize("mode", [cases.long("transaction"), "statement"])
def test_an_earlier_outbox_is_migrated_while_its_users_write_and_is_then_as_a_new_one(
    postgres: Postgres, template: Template, shop: Shop, mode: Mode
) -> None:
    make_earlier(shop.parameters, mode)
    # What an earlier version could leave stale, and only the new version would correct.
    shop.run("SET session_replication_role = replica")
    shop.run("UPDATE customers SET phone = 'stale' WHERE customer_id = 'VINET'")
    shop.run("DELETE FROM cdc_events WHERE order_id = 10250")
    shop.run("SET session_replication_role = origin")
    with writers_at_work(shop, statements) as writers:
        # Three writers without a pause leave a migration few moments on a busy machine.
        done = migrate(shop.parameters, max_wait_s=PATIENCE_S)
    assert writers.failures == []
    assert done.changed
    assert done.steps == ("0004_one_mode", "0005_inline_rows", "0006_no_touch")
    assert done.orders >= 829
    shop.assert_consistent()
    assert shop.value("SELECT count(*) FROM outbox_refresh") == 0
    # The slot existed before, and keeps reading: what it sees includes the row that came back.
    assert 10250 in {event.order_id for event in shop.events()}
    with shop_copy(postgres, template("generated")) as new:
        assert catalogue(shop) == catalogue(new)


def test_an_outbox_from_before_there_were_versions_is_refused(shop: Shop) -> None:
    shop.run("DROP TABLE outbox_versions")
    before = catalogue(shop)
    with pytest.raises(LoadError) as caught:
        migrate(shop.parameters)
    said, _, advice = str(caught.value).partition(": ")
    assert said == "the schema datalake is there, but not the table datalake.outbox_versions"
    assert advice.endswith("or load it again with `./lake source load --replace`")
    assert catalogue(shop) == before


def test_what_events_say_changes_for_all_orders(shop: Shop, sql: Path) -> None:
    change(sql / outbox.VIEWS_FILE, "'ship_city', o.ship_city,", "'ship_city', upper(o.ship_city),")
    with writers_at_work(shop, statements) as writers:
        migrate(shop.parameters, max_wait_s=PATIENCE_S)
    assert writers.failures == []
    lower = "SELECT count(*) FROM cdc_events WHERE shipment ->> 'ship_city' <> upper(shipment ->> 'ship_city')"
    assert (shop.value(lower), shop.value(DIFFERENT)) == (0, 0)


def test_what_a_version_no_longer_has_is_dropped(shop: Shop, sql: Path) -> None:
    triggers = sql / outbox.TRIGGERS_FILE
    shop.run("CREATE FUNCTION outbox_old(a INT) RETURNS INT LANGUAGE sql AS 'SELECT 1'")
    shop.run("CREATE FUNCTION outbox_old_trigger() RETURNS TRIGGER LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
    shop.run("CREATE TRIGGER outbox_old AFTER INSERT ON us_states EXECUTE FUNCTION outbox_old_trigger()")
    shop.run("CREATE FUNCTION theirs() RETURNS TRIGGER LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
    shop.run("CREATE TRIGGER theirs AFTER INSERT ON us_states EXECUTE FUNCTION theirs()")
    shop.run("ALTER PUBLICATION cdc_publication ADD TABLE us_states")
    before = catalogue(shop)
    change(triggers, "-- Statement-level", "-- Changed: statement-level")
    migrate(shop.parameters)
    after = catalogue(shop)
    assert set(before) - set(after) == {line for line in before if "outbox_old" in line}
    assert [line for line in after if "outbox_old" in line] == []


@pytest.mark.parametrize(
    ("faulty", "text", "says"),
    [
        cases.long("migrations/9999_bad.sql", "CREATE TABLE datalake.half (); SELECT 1/0;", "division by zero"),
        cases.long("03_outbox.sql", "SELECT no_such_column FROM datalake.orders;", "no_such_column"),
        # What runs last.
        ("06_outbox_triggers.sql", "DO 'BEGIN RAISE ''not today''; END';", "not today"),
    ],
)
def test_a_migration_that_fails_changes_nothing(earlier: Shop, sql: Path, faulty: str, text: str, says: str) -> None:
    before = catalogue(earlier)
    with (sql / faulty).open("a", encoding="utf-8") as file:
        file.write(f"\n{text}\n")
    forget()
    with writers_at_work(earlier, statements) as writers, pytest.raises(LoadError) as caught:
        migrate(earlier.parameters, max_wait_s=PATIENCE_S)
    assert says in str(caught.value)
    assert "(nothing was changed)" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert writers.failures == []
    assert catalogue(earlier) == before
    # As the earlier version's views have it.
    assert earlier.value(DIFFERENT) == 0


def test_a_view_of_somebody_elses_on_ours_is_named(earlier: Shop) -> None:
    earlier.run("CREATE VIEW theirs AS SELECT order_id, shipment FROM current_order_events")
    with pytest.raises(LoadError, match="theirs depends on view"):
        migrate(earlier.parameters)


def test_a_database_that_had_this_codes_version_or_has_a_step_that_it_doesnt_know_is_too_new(shop: Shop) -> None:
    before = catalogue(shop)
    for change in (
        "INSERT INTO outbox_versions (sql_hash, steps, views) SELECT 'later', steps, '' FROM outbox_versions",
        "UPDATE outbox_versions SET steps = steps || '9999_later'::text, sql_hash = 'later'",
    ):
        shop.run(change)
        with pytest.raises(NewerError, match=r"newer version than this code \(nothing was changed\): update the code"):
            migrate(shop.parameters)
    assert catalogue(shop) == before


def test_a_transaction_that_keeps_the_tables_is_named_and_nobody_elses_sale_fails(earlier: Shop) -> None:
    before = catalogue(earlier)
    idle = earlier.connect(application_name="till 4")
    with idle.cursor() as cursor:
        cursor.execute("UPDATE products SET unit_price = 1 WHERE product_id = 77")
        with writers_at_work(earlier, statements) as writers, pytest.raises(LaterError) as caught:
            migrate(earlier.parameters, max_wait_s=1)
    assert f"in use by pid {idle.info.backend_pid} (till 4) since" in str(caught.value)
    assert writers.failures == []
    assert catalogue(earlier) == before
    idle.rollback()
    assert migrate(earlier.parameters).changed


def test_of_a_sale_and_a_migration_that_wait_for_each_other_the_migration_gives_way(earlier: Shop) -> None:
    with ThreadPoolExecutor() as threads:
        first, sale = earlier.connect(), earlier.connect()
        with first, first.cursor() as lines, sale, sale.cursor() as cursor:
            lines.execute("UPDATE order_details SET quantity = 1 WHERE order_id = 10248")
            cursor.execute("UPDATE products SET unit_price = 1 WHERE product_id = 77")
            migration = threads.submit(migrate, earlier.parameters)
            wait_for_lock(earlier, "order_details")
            # The migration has locked orders already. The sale waits for it, and only then does it wait for the sale.
            freight = threads.submit(cursor.execute, "UPDATE orders SET freight = 1 WHERE order_id = 10248")
            wait_for_lock(earlier, "orders", unless=freight.done)
            first.commit()
            freight.result(PATIENCE_S)
        assert migration.result(PATIENCE_S).changed
    earlier.assert_consistent()


def wait_for_lock(shop: Shop, table: str, unless: Callable[[], bool] = lambda: False) -> None:
    """Wait until someone waits for a lock on the table, or that is no longer needed."""
    waiting = f"SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '{table}'::regclass"
    wait_until(lambda: unless() or shop.value(waiting))


def test_an_interrupted_migration_is_finished_by_the_next(earlier: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrating, "PIECE_ORDERS", 100)
    with pytest.raises(LaterError, match="100 orders' outbox rows brought up to date so far: the rest follows"):
        migrate(earlier.parameters, refresh_s=0)
    # Everything that arrives meanwhile is new already.
    earlier.commit(*statements(0, 1, 5), "DELETE FROM order_details WHERE order_id = 11077")
    done = migrate(earlier.parameters)
    assert (done.changed, done.orders) == (False, 729)
    earlier.assert_consistent()
    with earlier.connect() as other, other.cursor() as cursor:
        cursor.execute("UPDATE orders SET freight = 1 WHERE order_id = 10248")
        # No one is waited for, either.
        done = migrate(earlier.parameters, max_wait_s=0)
    assert (done.changed, done.steps, done.orders) == (False, (), 0)


def test_an_order_that_is_too_large_or_takes_long_keeps_no_other_from_its_row(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrating, "PIECE_MS", 100)
    shop.commit(*MANY_LINES)
    shop.run("SET session_replication_role = replica")
    shop.run("UPDATE products SET product_name = 'stale' WHERE product_id = 1001")
    shop.run("UPDATE customers SET phone = 'stale'")
    shop.run("SET session_replication_role = origin")
    shop.run(
        "CREATE FUNCTION long() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.3); RETURN NEW; END $$"
    )
    shop.run(
        "CREATE TRIGGER long BEFORE UPDATE ON cdc_events FOR EACH ROW WHEN (OLD.order_id = 11077)"
        " EXECUTE FUNCTION long()"
    )
    shop.run(f"UPDATE outbox_settings SET max_event_bytes = {MIB}; SELECT outbox_refresh_all()")
    assert migrate(shop.parameters, max_wait_s=5).orders == 830
    shop.drain()
    assert shop.value(DIFFERENT) == 1
    assert shop.value("SELECT ROW(entries, failing, orders)::text FROM outbox_lag") == "(1,1,1)"
    assert "the event of order 1 would have" in shop.value("SELECT error FROM outbox_lag")


THEIRS = """
CREATE FUNCTION public.theirs({type}, {other}) RETURNS BOOLEAN LANGUAGE plpgsql AS $$ BEGIN RAISE 'theirs'; END $$;
CREATE OPERATOR public.{name} (FUNCTION = public.theirs, LEFTARG = {type}, RIGHTARG = {other})
"""


def test_nobody_elses_operator_is_taken_for_the_servers(shop: Shop, sql: Path) -> None:
    shop.run("UPDATE outbox_settings SET inline_orders = 0")
    shop.run("UPDATE customers SET phone = 'new' WHERE customer_id = 'VINET'")
    # Of these the server has none of just these types, and uses one of others.
    for name, type_, other in ((">=", "numeric", "float8"), ("=", "varchar", "varchar"), ("~~", "name", "name")):
        shop.run(THEIRS.format(name=name, type=type_, other=other))
    shop.run("SET search_path = public")
    shop.run("CALL datalake.outbox_drain()")
    shop.run("CALL datalake.usp_alter_source('')")
    shop.run("CALL datalake.usp_refresh_order_events()")
    change(sql / outbox.VIEWS_FILE, "-- What the outbox", "-- Changed: what the outbox")
    migrate(shop.parameters)
    shop.run("SET search_path = datalake")
    shop.assert_consistent()


def test_a_piece_of_a_refresh_has_an_order_at_least(shop: Shop) -> None:
    shop.run("SELECT datalake.outbox_refresh_all()")
    assert shop.value("SELECT datalake.outbox_refresh_step(0)") == 1
