import pytest

from capture.entry import is_secret, may_be_personal
from capture.obstacles import Patterns, SelectionError
from db.source.catalogue import TableName

TABLES = [TableName("public", "orders"), TableName("public", "order_log"), TableName("Sales Dept", "a.b")]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("", ["orders", "order_log", "a.b"]),
        ("orders", ["orders"]),
        ("order*", ["orders", "order_log"]),
        ("order*,!*_log", ["orders"]),
        ("!public.*", ["a.b"]),
        ("Sales Dept.*", ["a.b"]),
        (" public.orders , *.a.b ", ["orders", "a.b"]),
        ("ORDERS", []),
    ],
)
def test_patterns_mean_tables(text: str, meant: list[str]) -> None:
    patterns = Patterns.of_text(text)
    assert [table.name for table in TABLES if patterns.match(table)] == meant


def test_a_pattern_that_means_no_table_is_one_line() -> None:
    with pytest.raises(SelectionError, match=r"^--tables: no table matches 'oders'$"):
        Patterns.of_text("orders,oders").check(TABLES)


@pytest.mark.parametrize("name", ["email", "e_mail", "phone2", "home_phone", "first_name", "date_of_birth", "address"])
def test_a_name_may_say_personal_data(name: str) -> None:
    assert may_be_personal(name)


@pytest.mark.parametrize("name", ["address_id", "female", "order_id", "company", "filename", "spin", "mailing_list_id"])
def test_a_name_that_only_looks_like_it_says_nothing(name: str) -> None:
    assert not may_be_personal(name)
    assert not is_secret(name)
