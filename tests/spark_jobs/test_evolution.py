"""Which fields become columns, and what they are called."""

import itertools

from spark_jobs.decoding.new_columns import new_columns

KNOWN = ("order_id", "note")


def names(sets: list[tuple[str, ...]], *, room: int) -> dict[str, str]:
    return dict(new_columns(KNOWN, sets, room=room).names)


def test_a_column_is_called_what_the_lake_calls_it() -> None:
    found = names([("Mixed Case", "order"), ("a.b",), ("größe",)], room=10)
    assert found == {"Mixed Case": "mixed_case", "order": "order", "a.b": "a_b", "größe": "gro_u00df_e"}


def test_names_of_which_the_lake_makes_two_become_two_columns() -> None:
    assert names([("Xx", "xX")], room=10) == {"Xx": "xx", "xX": "x_x"}


def test_of_names_that_differ_by_case_one_becomes_a_column_whatever_the_order() -> None:
    sets = [("Weight",), ("weight",), ("N",), ("n",), ("Note",)]
    for order in itertools.permutations(sets):
        found = new_columns(KNOWN, order, room=10)
        assert found.names == {"n": "n", "weight": "weight"}
        assert found.unusable == {"N", "Weight", "Note"}


def test_fields_that_would_be_called_alike_or_like_hudis_own_are_no_columns() -> None:
    assert new_columns(KNOWN, [("n", "N", "x")], room=10).unusable == {"n", "N"}
    assert new_columns(KNOWN, [("order id",), ("orderId",)], room=10).names == {}
    assert new_columns(KNOWN, [("_hoodie_commit_time", "x")], room=10).unusable == {"_hoodie_commit_time"}
    assert new_columns(KNOWN, [("Order ID",)], room=10).unusable == {"Order ID"}


def test_an_event_that_cannot_have_all_its_columns_adds_none() -> None:
    assert list(names([("Note", "extra"), ("a", "b")], room=10)) == ["a", "b"]
    assert list(names([("a", "b"), ("c",)], room=1)) == ["c"]


def test_no_more_columns_are_added_than_there_is_room_for() -> None:
    assert list(names([("a",), ("a", "c"), ("b",)], room=2)) == ["a", "c"]
    assert names([("a",)], room=0) == {}
