"""Columns are added to `leave_out` of a user's file without any other change."""

import tomllib

import pytest

from capture.pipeline_text import with_left_out

BEFORE = (
    '[source]\ndatabase = "shop"   # ours\n\n# [[tables]] come now\n[[tables]]\nsource = "public.a"\nkey = ["id"]\n\n'
)
ENTRIES = {
    "none left out": '[[tables]]\nsource = "public.b"\nkey = ["id"]  # mine\nbuckets = 4\n',
    "one on the same line": '[[tables]]\nsource = "public.b"\nleave_out = ["x"]  # mine\nkey = ["id"]\n',
    "an empty list": '[[tables]]\nsource = "public.b"\nkey = ["id"]\nleave_out = []\n',
    "a list of lines": '[[ tables ]] # b\nsource = "public.b"\nkey = ["id"]\nleave_out = [\n    "x",  # y\n]\n',
    "a key of lines": '[[tables]]\nkey = [\n    "id",\n]\nsource = "public.b"',
    "no end of line": '[[tables]]\nsource = "public.b"\nkey = ["id"]',
}
AFTER = '\n[[tables]]\nsource = "public.c"\nleave_out = ["z"]\n'


@pytest.mark.parametrize("after", [AFTER, ""])
@pytest.mark.parametrize("entry", ENTRIES)
def test_a_column_is_left_out_of_its_table_and_all_else_stays(entry: str, after: str) -> None:
    text = BEFORE + ENTRIES[entry] + after
    made = with_left_out(text, 1, {"new": "why", 'a "b"': "why not"})
    assert made is not None
    tables, former = tomllib.loads(made)["tables"], tomllib.loads(text)["tables"]
    assert tables[1].pop("leave_out") == ["new", 'a "b"', *former[1].pop("leave_out", [])]
    assert tables == former
    kept = made.replace('    "new",  # why\n    "a \\"b\\"",  # why not\n', "").replace("leave_out = [\n]\n", "")
    assert "".join(kept.split()) == "".join(text.replace("leave_out = []\n", "").split())
    assert '"new",  # why' in made


@pytest.mark.parametrize(
    "text",
    [
        'tables = [{ source = "public.a" }, { source = "public.b" }]\n',
        '[[tables]]\nnote = """\n[[tables]]\nleave_out = [\n"""\n[[tables]]\nsource = "public.b"\n',
        '[["tables"]]\nsource = "public.a"\n\n[["tables"]]\nsource = "public.b"\n',
    ],
)
def test_a_file_that_cant_be_told_apart_by_its_lines_is_left_alone(text: str) -> None:
    assert with_left_out(text, 1, {"new": "why"}) is None
