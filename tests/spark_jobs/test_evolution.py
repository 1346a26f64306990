"""Which fields become columns."""

import itertools

from spark_jobs.evolution import new_names

KNOWN = ("order_id", "note")


def test_of_names_that_differ_by_case_one_becomes_a_column_whatever_the_order() -> None:
    sets = [("Weight",), ("weight",), ("N",), ("n",), ("Note",)]
    for order in itertools.permutations(sets):
        assert new_names(KNOWN, order, room=10) == ["n", "weight"]


def test_an_event_that_cannot_have_all_its_columns_adds_none() -> None:
    assert new_names(KNOWN, [("Note", "extra"), ("a", "b")], room=10) == ["a", "b"]
    assert new_names(KNOWN, [("a", "b"), ("c",)], room=1) == ["c"]


def test_no_more_columns_are_added_than_there_is_room_for() -> None:
    assert new_names(KNOWN, [("a",), ("a", "c"), ("b",)], room=2) == ["a", "c"]
    assert new_names(KNOWN, [("a",)], room=0) == []
