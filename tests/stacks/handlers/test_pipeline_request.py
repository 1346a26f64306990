"""What the handler that prepares a pipeline's database reads in the stack's request."""

import json
from typing import Any

import pytest

from capture.objects import source_objects
from settings.pipeline import Pipeline
from stacks.handlers.framework import ResourceError
from stacks.handlers.pipeline_preparation import wanted_tables
from stacks.source_preparation import table_request

ENTRY: dict[str, Any] = {"source": "public.customers", "how": "log", "key": ["id"], "leave_out": ["photo"]}


def test_a_database_is_prepared_on_aws_for_the_same_tables_as_on_one_machine() -> None:
    tables = [ENTRY | {"hash": ["email"]}, {"source": "public.notes", "how": "log", "append_only": True}]
    shop = Pipeline.model_validate({"name": "shop", "source": {"database": "d"}, "tables": tables})
    sent = json.loads(json.dumps([table_request(table) for table in shop.tables]))
    assert wanted_tables(sent) == source_objects(shop).tables


def test_a_request_of_an_earlier_release_hashes_nothing() -> None:
    [table] = wanted_tables([{"schema": "public", "name": "a", "key": ["id"], "leaveOut": []}])
    assert table.hashed == frozenset()


@pytest.mark.parametrize("entry", [{}, {"schema": "public", "name": "a", "key": ["id"]}, "public.a"])
def test_what_is_no_table_is_refused(entry: Any) -> None:
    with pytest.raises(ResourceError, match="Request: tables: not a table"):
        wanted_tables([entry])
