from local.look.status import TableStatus, truncate_problems


def test_status_says_which_table_was_emptied_and_what_to_do() -> None:
    tables = [TableStatus(name="public.items", ignored_truncate=True), TableStatus(name="public.other")]
    [line] = truncate_problems(tables)
    assert "public.items was emptied by TRUNCATE" in line
    assert "`./lake resnapshot -t public.items`" in line
