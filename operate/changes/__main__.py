"""Writes docs/reference/settings.md."""

from contract.errors import one_line_errors
from operate.changes.page import PAGE, write

if __name__ == "__main__":
    with one_line_errors("setting-changes"):
        write()
    print(f"wrote {PAGE.name}")
