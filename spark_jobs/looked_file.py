"""Says in a file how far a queried table is: when the last look began that the table has all of.

What was committed in the source before that moment is in the table. Whoever compares both, on the driver's machine,
knows by it what is late and what is lost (local/comparison/platform_arrivals.py).
"""

from collections.abc import Callable
from pathlib import Path

from spark_jobs.errors import first_line

Log = Callable[[str], None]


class LookedFile:
    """The file at `path`, in which `looked_ms` is written, milliseconds since 1970; its folder is made when missing."""

    def __init__(self, path: str, *, looked_ms: Callable[[], int | None], log: Log) -> None:
        self._path = Path(path)
        self._looked_ms = looked_ms
        self._log = log
        self._written: int | None = None
        self._failing = False

    def write(self) -> None:
        """Write what is new; a failure is logged once, and the job goes on."""
        looked_ms = self._looked_ms()
        if looked_ms is None or looked_ms == self._written:
            return
        new = self._path.with_name(f"{self._path.name}.new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            new.write_text(f"{looked_ms}\n", encoding="ascii")
            new.replace(self._path)
        except OSError as error:
            if not self._failing:
                self._log(f"{self._path} can't be written: {first_line(error)}")
            self._failing = True
            return
        self._written, self._failing = looked_ms, False
