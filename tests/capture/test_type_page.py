"""The page of types agrees with the table of types."""

from capture.type_page import PAGE, page


def test_the_page_is_what_the_table_of_types_makes_of_it() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run ./lake dev generate types"
