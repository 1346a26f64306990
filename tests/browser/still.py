"""Serves the live page with a pickled picture from a file: `python -m tests.browser.still PORT FILE`.

It ends with its standard input.
"""

import os
import pickle
import sys
import threading
import time
from pathlib import Path

from local.dashboard.server import serve
from local.dashboard.watcher import Picture

LOOK_S = 0.05


class Shown:
    """The picture in a file, which others replace."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.picture = self._read()

    def start(self) -> None:
        """Watch the file, and wait for the end, alongside the server."""
        for target in (self._run, _end_with_standard_input):
            threading.Thread(target=target, daemon=True).start()

    def close(self) -> None:
        """Nothing to close."""

    def _run(self) -> None:
        number = 0
        while True:
            if (now := self._file.stat().st_mtime_ns) != number:
                number, self.picture = now, self._read()
            time.sleep(LOOK_S)

    def _read(self) -> Picture:
        with self._file.open("rb") as file:
            picture = pickle.load(file)  # noqa: S301 - written by who has started this program
        assert isinstance(picture, Picture)
        return picture


def _end_with_standard_input() -> None:
    os.read(0, 1)
    os._exit(0)


if __name__ == "__main__":
    serve(Shown(Path(sys.argv[2])), int(sys.argv[1]))
