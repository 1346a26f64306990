"""`python -m operate.changes`: write docs/setting-changes.md."""

from operate.changes.page import PAGE, write
from operate.errors import one_line_errors

if __name__ == "__main__":
    with one_line_errors("setting-changes"):
        write()
    print(f"wrote {PAGE.name}")
