"""Commands' outputs in documents: whole lines in order, with a line `…` for omitted ones."""

import re
from pathlib import Path


def transcript(page: Path, command: str) -> str:
    """Return the page's text below `$ command`, up to the block's end."""
    [shown] = re.findall(rf"^```\w*\n\$ {re.escape(command)}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    return str(shown)


def first_difference(shown: str, output: str) -> str:
    """Return the first part that the output lacks in its place, or an empty text."""
    rest = f"\n{output}"
    for part in re.split(r"^…\n", shown, flags=re.MULTILINE):
        _, found, rest = rest.partition(f"\n{part}")
        if not found:
            return part
        rest = f"\n{rest}"
    return ""
