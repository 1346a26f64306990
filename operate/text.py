"""Tables as plain text of any width, which can be piped."""

from collections.abc import Iterator, Sequence


def columns(rows: Sequence[Sequence[str]], *, left: int) -> Iterator[str]:
    """Align the rows in columns: the first `left` to the left, the figures to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if number < left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
