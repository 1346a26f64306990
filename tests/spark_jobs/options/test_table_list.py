"""HoodieMultiTableStreamer's options and properties: the tables that they name, and each table's settings."""

from collections.abc import Mapping

import pytest

from spark_jobs.errors import SettingsError
from spark_jobs.options import command_line, keys
from spark_jobs.options.settings import Settings
from spark_jobs.options.table_list import TableList

NEEDED = [
    *("--base-path-prefix", "s3://lake/", "--config-folder", "s3://conf/", "--props", "s3://conf/list.properties"),
    *("--table-type", "COPY_ON_WRITE"),
]
TABLE = """
hoodie.datasource.write.recordkey.field=id
hoodie.deltastreamer.source.dfs.root=s3://landing/shop.public.orders
hoodie.deltastreamer.schemaprovider.source.schema.file=s3://conf/orders.avsc
"""


def listed(files: Mapping[str, str], *arguments: str) -> TableList:
    folder = {"list.properties": "", **files}

    def read_text(path: str) -> str:
        name = path.removeprefix("s3://conf/")
        if name not in folder:
            raise SettingsError(f"{path}: no such file")
        return folder[name]

    return TableList(command_line.parse_many([*NEEDED, *arguments]), read_text)


def first(found: TableList) -> Settings:
    return found.settings(found.tables[0], lambda line: pytest.fail(line))


def test_a_table_has_its_own_file_and_base_path() -> None:
    found = listed(
        {"list.properties": f"{keys.TABLES}=shop.orders, customers\n", "shop_orders_config.properties": TABLE}
    )
    assert [(table.full_name, table.config_file) for table in found.tables] == [
        ("shop.orders", "s3://conf/shop_orders_config.properties"),
        ("default.customers", "s3://conf/default_customers_config.properties"),
    ]
    table = first(found).table
    assert (table.base_path, table.database, table.name) == ("s3://lake/shop/orders", "shop", "orders")


def test_names_of_the_deltastreamers_time_are_understood() -> None:
    old = {
        "list.properties": "hoodie.deltastreamer.ingestion.tablesToBeIngested=shop.orders\n"
        "hoodie.deltastreamer.ingestion.shop.orders.configFile=s3://conf/mine.properties\n",
        "mine.properties": f"{TABLE}hoodie.deltastreamer.ingestion.targetBasePath=s3://elsewhere/orders/\n",
    }
    assert first(listed(old)).table.base_path == "s3://elsewhere/orders"


def orders(common: str, own: str, *arguments: str) -> tuple[TableList, Settings]:
    """A list of one table, and its settings, with more lines in the common file and in its own."""
    files = {
        "list.properties": f"{keys.TABLES}=shop.orders\n{common}",
        "shop_orders_config.properties": f"{TABLE}{own}",
    }
    found = listed(files, *arguments)
    return found, first(found)


def test_the_command_line_wins_over_the_tables_file_and_that_one_over_the_common() -> None:
    common = f"{keys.QUARANTINE_LIMIT}=1\n{keys.DELETES_LIMIT}=1\n{keys.NEW_COLUMNS_LIMIT}=1\n"
    own = f"{keys.DELETES_LIMIT}=2\n{keys.NEW_COLUMNS_LIMIT}=2\n"
    _, decided = orders(common, own, "--hoodie-conf", f"{keys.NEW_COLUMNS_LIMIT}=3")
    assert (decided.quarantine_limit, decided.deletes_limit, decided.new_columns_limit) == (1, 2, 3)


def test_a_tables_own_file_decides_what_the_options_say_for_all() -> None:
    own = (
        "hoodie.datasource.write.table.type=merge_on_read\nhoodie.datasource.write.precombine.field=seq\n"
        f"hoodie.datasource.write.operation=insert\n{keys.MIN_SYNC_INTERVAL}=9\n"
    )
    _, decided = orders("", own, "--min-sync-interval-seconds", "5")
    assert (decided.table.table_type, decided.table.ordering_field) == ("MERGE_ON_READ", "seq")
    assert (decided.table.operation, decided.options.min_sync_interval_seconds) == ("insert", 9)


def test_one_stop_file_is_the_applications() -> None:
    found, decided = orders(f"{keys.STOP_FILE}=s3://b/stop\n", "")
    assert (found.stop_file, decided.stop_file) == ("s3://b/stop", None)


@pytest.mark.parametrize(
    ("properties_text", "message"),
    [
        ("", f"{keys.TABLES} is missing: name the tables, as database.table,database.table"),
        (f"{keys.TABLES}=shop.orders,shop.orders", f"{keys.TABLES}: shop.orders is named twice"),
        (f"{keys.TABLES}=a.b.c", f"{keys.TABLES}: 'a.b.c' isn't database.table or table"),
        (f"{keys.TABLES}=a/b", f"{keys.TABLES}: 'a/b' isn't database.table or table"),
        (
            f"{keys.TABLES}=shop.orders\nhoodie.streamer.ingestion.shop.order.configFile=x",
            f"hoodie.streamer.ingestion.shop.order.configFile: {keys.TABLES} names no such table",
        ),
        (
            f"{keys.TABLES}=shop.orders\n{keys.TARGET_BASE_PATH}=s3://lake/x",
            f"{keys.TARGET_BASE_PATH} is for one table: say it in that table's own file",
        ),
        (
            f"{keys.TABLES}=shop.orders\nhoodie.streamer.ingestion.tables=x",
            "hoodie.streamer.ingestion.tables: unknown property",
        ),
    ],
)
def test_a_list_that_makes_no_sense_is_refused_in_one_line(properties_text: str, message: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        listed({"list.properties": properties_text})
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (None, "s3://conf/shop_orders_config.properties: no such file"),
        *(
            (f"{key}=1", f"s3://conf/shop_orders_config.properties: {key} is for the whole application: say it in")
            for key in (
                *(keys.STOP_FILE, keys.METRICS_NAMESPACE, keys.TABLES, keys.PARALLEL_COMMITS),
                "hoodie.streamer.ingestion.shop.orders.configFile",
            )
        ),
        (f"{keys.TARGET_BASE_PATH}=", f"{keys.TARGET_BASE_PATH}=: say a value, or leave it out"),
        ("hoodie.datasource.write.table.type=COW", "hoodie.datasource.write.table.type=COW: say"),
        ("hoodie.streamer.transformer.class=x.ChainedTransformer", "hoodie.streamer.transformer.class=x.Chained"),
    ],
)
def test_a_mistake_in_a_tables_own_file_is_that_tables_alone(own: str | None, message: str) -> None:
    files = {"list.properties": f"{keys.TABLES}=shop.orders,shop.customers\n"}
    files["shop_customers_config.properties"] = TABLE.replace("orders", "customers")
    if own is not None:
        files["shop_orders_config.properties"] = f"{TABLE}{own}\n"
    found = listed(files)
    with pytest.raises(SettingsError) as refusal:
        first(found)
    assert str(refusal.value).startswith(message)
    assert found.settings(found.tables[1], print).table.name == "customers"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "missing: --base-path-prefix, --config-folder, --props, --table-type; see --help"),
        (["--target-base-path", "s3://x"], "--target-base-path is HoodieStreamer's: give --base-path-prefix"),
        ([*NEEDED, "--filter-dupes"], "--filter-dupes isn't supported: "),
    ],
)
def test_other_options_are_refused_by_name(arguments: list[str], message: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        command_line.parse_many(arguments)
    assert str(refusal.value).startswith(message)
