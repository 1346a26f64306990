"""A patch contains the differences, and restores the template."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operate.diff.snapshots import difference, patched

KEYS = st.sampled_from(["Name", "Bucket0123ABCD", "Bucket4567EF01", "Key"])
VALUES = st.recursive(
    st.integers(0, 2) | st.text("ab", max_size=1),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(before=st.dictionaries(KEYS, VALUES), after=st.dictionaries(KEYS, VALUES))
def test_what_a_patch_was_made_of_comes_back(before: dict[str, Any], after: dict[str, Any]) -> None:
    patch = difference(before, after)
    assert before == after if patch is None else patched(before, patch) == after


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({"A": 1, "B": 2}, {"A": 1, "C": 3}, {"B": None, "C": 3}),
        ({"A": ["long", "list", "of", "words"]}, {"A": ["long", "list", "of", "W"]}, {"A": {"at": {"3": "W"}}}),
        ({"A": [1, 2]}, {"A": [1]}, {"A": [1]}),
        (
            {"Bastion01234567": {"Type": "T", "Size": 1}},
            {"Bastion89ABCDEF": {"Type": "T", "Size": 2}},
            {"Bastion01234567": None, "Bastion89ABCDEF": {"like": "Bastion01234567", "Size": 2}},
        ),
    ],
)
def test_a_patch_says_only_what_differs(before: dict[str, Any], after: dict[str, Any], patch: dict[str, Any]) -> None:
    assert difference(before, after) == patch
