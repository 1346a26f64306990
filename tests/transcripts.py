"""What documents show of commands' outputs: whole lines in their order, with a line `…` for those left out."""

import re
from pathlib import Path


def transcript(page: Path, command: str) -> str:
    """Return what the page shows below `$ command`, up to the block's end."""
    [shown] = re.findall(rf"^```\w*\n\$ {re.escape(command)}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    return str(shown)


def first_difference(shown: str, output: str) -> str:
    """Return the first of the shown parts that the output doesn't have in its place, or an empty text."""
    rest = f"\n{output}"
    for part in re.split(r"^…\n", shown, flags=re.MULTILINE):
        _, found, rest = rest.partition(f"\n{part}")
        if not found:
            return part
        rest = f"\n{rest}"
    return ""
