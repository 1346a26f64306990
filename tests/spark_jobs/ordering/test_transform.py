"""HoodieStreamer's SqlQueryBasedTransformer: changes that a query may make on the way into the table, and may not."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from contract.events import LSN, OPERATION, PLACEHOLDER, TRUNCATE
from spark_jobs.decoding.schema import Column
from spark_jobs.errors import SettingsError
from spark_jobs.options import keys
from spark_jobs.ordering.transform import SqlTransformer
from tests.spark_jobs.events import SCHEMA, event
from tests.spark_jobs.lake import Lake

pytestmark = pytest.mark.integration

CLASS = "org.apache.hudi.utilities.transform.SqlQueryBasedTransformer"


def transformed(lake: Lake, query: str, *, times: int = 1, added: dict[str, str] | None = None) -> Lake:
    """The lake with a query, and with a target schema that has the `added` columns, too."""
    lake.arguments = ("--transformer-class", ",".join([CLASS] * times))
    lake.extra = {keys.TRANSFORMER_SQL: query}
    if added is not None:
        schema = json.loads(SCHEMA.read_text())
        schema["fields"] += [{"name": name, "type": ["null", kind]} for name, kind in added.items()]
        path = Path(lake.folder) / "target.avsc"
        path.write_text(json.dumps(schema))
        lake.extra |= {keys.TARGET_SCHEMA_FILE: str(path)}
    return lake


def changing(column: str, to: str) -> str:
    """A query that changes one column."""
    names = [field["name"] for field in json.loads(SCHEMA.read_text())["fields"]]
    values = (f"{to} AS {name}" if name == column else name for name in names)
    return f"SELECT {', '.join(values)}, _hoodie_is_deleted FROM <SRC>"


def test_a_query_adds_a_column_and_passes_on_new_fields_and_deletes(lake: Lake) -> None:
    query = "SELECT *, upper(customer_id) || '!' AS shouted FROM <SRC> a WHERE 'European Union' <> 'Unions'"
    transformed(lake, query, added={"shouted": "string"})
    lake.run(event(1, 10, "c", customer_id="abc", **{"Note Text": "first"}), event(3, 10, "c"))
    assert lake.rows()[1]["shouted"] == "ABC!"
    # The table has the column now, the events still lack it; a new field is known to the next job.
    named = {"Note Text": "second"}
    report = lake.run(event(1, 20, customer_id="def", **named), event(2, 20, "c"), event(3, 20, "d"))
    assert (report.deletes, report.quarantined) == (1, 0)
    job = lake.job()
    for *lines, folded in ((event(3, 15), event(2, 30, memo="large"), 1), (event(2, 40, memo=PLACEHOLDER), 0)):
        batch = lake.run(*lines, job=job)
        assert (batch.folded, batch.quarantined) == (folded, 0)
    names = ("shouted", "note_text", "memo")
    assert {key: tuple(map(row.get, names)) for key, row in lake.rows().items()} == {
        1: ("DEF!", "second", None),
        2: ("VINET!", None, "large"),
    }


def test_what_a_query_filters_out_is_not_written(lake: Lake) -> None:
    transformed(lake, "SELECT * FROM <SRC> WHERE _hoodie_is_deleted OR customer_id <> 'SECRET'")
    lake.extra = {**lake.extra, keys.TRUNCATE: keys.TRUNCATE_APPLY}
    lake.run(event(1, 10, "c", customer_id="SECRET"), event(2, 10, "c"))
    assert sorted(lake.rows()) == [2]
    # A TRUNCATE removes a row even if its key comes again and is filtered out.
    lake.run({OPERATION: TRUNCATE, LSN: 20}, event(2, 30, "c", customer_id="SECRET"), event(3, 30, "c"))
    assert sorted(lake.rows()) == [3]


def test_a_placeholder_takes_the_tables_value_only_where_the_query_left_it_as_it_was(lake: Lake) -> None:
    # Twice, one after the other.
    transformed(lake, changing("employee", "concat('[', employee, ']')"), times=2)
    lake.run(event(1, 10, "c", products="[1]", employee="{}"), event(2, 10, "c", products="[2]", employee="{}"))
    report = lake.run(event(1, 20, products=PLACEHOLDER, employee="[]"), event(2, 20, employee=PLACEHOLDER))
    assert lake.rows()[1]["products"] == "[1]"
    assert lake.rows()[1]["employee"] == "[[[]]]"
    # The table's value comes from the query, not the source: using it would apply the query again.
    assert report.quarantined == 1
    assert lake.rows()[2]["__lsn"] == 10


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT order_id FROM <SRC>", "the query must pass on __lsn, _hoodie_is_deleted as it is"),
        (changing("order_id", "order_id + 1"), "must pass on order_id as it is"),
        ("SELECT * FROM <SRC> UNION ALL SELECT * FROM <SRC>", "must pass on order_id, __lsn, _hoodie_is_deleted"),
        ("SELECT order_id, __lsn, _hoodie_is_deleted FROM <SRC>", "the query lacks customer_id, order_date,"),
        ("SELECT *, 1 AS one FROM <SRC>", "the query adds one, not in the table's schema"),
        ("SELECT *, customer_id FROM <SRC>", "the query gives customer_id twice"),
        ("SELECT nothing FROM <SRC>", "nothing"),
        ("SELEC * FROM <SRC>", "PARSE_SYNTAX_ERROR"),
    ],
)
def test_a_query_that_cannot_be_written_is_refused(
    spark: SparkSession, columns: tuple[Column, ...], query: str, message: str
) -> None:
    transformer = SqlTransformer(spark, query, 1, target=columns, required=("order_id", "__lsn"))
    with pytest.raises(SettingsError) as refusal:
        transformer.passed_on(columns)
    assert str(refusal.value).startswith(f"{keys.TRANSFORMER_SQL}: ")
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_type_that_the_target_schema_does_not_say_is_refused_before_anything_is_written(lake: Lake) -> None:
    transformed(lake, "SELECT *, length(customer_id) AS size FROM <SRC>", added={"size": "string"})
    with pytest.raises(SettingsError, match=r"the query makes size int, .* says string"):
        lake.job()
