"""How the handler that prepares a pipeline's database reads the stack's request."""

import json
from pathlib import Path
from typing import Any

import pytest

from capture.objects import source_objects
from settings.pipeline import Pipeline
from stacks.handlers.framework import ResourceError
from stacks.handlers.preparation import wanted_tables
from stacks.preparation import table_request, table_requests

ENTRY: dict[str, Any] = {"source": "public.customers", "how": "log", "key": ["id"], "leave_out": ["photo"]}


def test_a_database_is_prepared_on_aws_for_the_same_tables_as_on_one_machine() -> None:
    tables = [ENTRY | {"hash": ["email"]}, {"source": "public.notes", "how": "log", "append_only": True}]
    shop = Pipeline.model_validate({"name": "shop", "source": {"database": "d"}, "tables": tables})
    sent = json.loads(json.dumps([table_request(table) for table in shop.tables]))
    assert wanted_tables(sent) == source_objects(shop).tables


def test_a_new_column_beside_one_that_is_left_out_is_another_request(tmp_path: Path) -> None:
    tables = [ENTRY, {"source": "public.notes", "how": "log", "key": ["id"]}]
    shop = Pipeline.model_validate({"name": "shop", "source": {"database": "d"}, "tables": tables})
    (tmp_path / "shop").mkdir()
    sent = []
    for columns in (["id"], ["id", "email"]):
        for table in shop.tables:
            (tmp_path / shop.schema_file(table)).write_text(json.dumps({"fields": columns}))
        sent.append(table_requests(shop, tmp_path))
    (customers, notes), (wider, notes_again) = sent
    assert wider != customers
    assert notes_again == notes
    assert wanted_tables(sent[0]) == wanted_tables(sent[1]) == source_objects(shop).tables


def test_a_request_of_an_earlier_release_hashes_nothing() -> None:
    [table] = wanted_tables([{"schema": "public", "name": "a", "key": ["id"], "leaveOut": []}])
    assert table.hashed == frozenset()


@pytest.mark.parametrize("entry", [{}, {"schema": "public", "name": "a", "key": ["id"]}, "public.a"])
def test_what_is_no_table_is_refused(entry: Any) -> None:
    with pytest.raises(ResourceError, match="Request: tables: not a table"):
        wanted_tables([entry])
