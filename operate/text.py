"""Tables as plain text, which may be as wide as they are and go through a pipe."""

from collections.abc import Iterator, Sequence


def columns(rows: Sequence[Sequence[str]], *, left: int) -> Iterator[str]:
    """Give the rows with their columns one below the other: the first `left` on the left, the figures on the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if number < left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
