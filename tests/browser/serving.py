"""The live page, served in a separate process: a platform's as `./lake dashboard` does, or a test's pictures.

`python -m tests.browser.serving PORT FILE` serves a pickled picture, and ends with its standard input.
"""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from local.dashboard.watcher import Picture
from local.setup.ports import HOST, is_free
from tests.conftest import free_port
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
END_S = 60


@dataclass(frozen=True, kw_only=True)
class Served:
    port: int

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/"


@dataclass(frozen=True, kw_only=True)
class Still(Served):
    """A page that shows a test's pictures, without a platform; the file holds the picture."""

    file: Path

    def show(self, picture: Picture) -> None:
        written = self.file.with_suffix(".new")
        written.write_bytes(pickle.dumps(picture))
        written.replace(self.file)


@contextlib.contextmanager
def serving_platform(state_dir: Path) -> Iterator[Served]:
    """Serve the page of the platform in a folder, with the command."""
    port = free_port()
    with _running("cli", "dashboard", "--folder", str(state_dir), "--port", str(port)) as process:
        _wait_until_taken(port, process)
        yield Served(port=port)


@contextlib.contextmanager
def serving_still(picture: Picture, folder: Path) -> Iterator[Still]:
    """Serve a picture, which is kept in the folder."""
    still = Still(port=free_port(), file=folder / "picture")
    still.show(picture)
    with _running("tests.browser.serving", str(still.port), str(still.file)) as process:
        _wait_until_taken(still.port, process)
        yield still


@contextlib.contextmanager
def _running(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run `python -m …`; end it with Ctrl-C. AssertionError if it prints anything but the page's address."""
    argv = [sys.executable, "-m", *arguments]
    with (
        tempfile.TemporaryFile("w+") as complaints,
        subprocess.Popen(
            argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=complaints
        ) as process,
    ):
        try:
            yield process
            process.send_signal(signal.SIGINT)
            process.wait(timeout=END_S)
        finally:
            process.kill()
            complaints.seek(0)
            said = complaints.read()
        assert said == "", said


def _wait_until_taken(port: int, process: subprocess.Popen[bytes]) -> None:
    def is_taken() -> bool:
        assert process.poll() is None, "the page's server has ended"
        return not is_free(port)

    wait_until(is_taken, f"a listener on {port}")


class Shown:
    """The picture in a file, which others replace."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._written = 0

    def __call__(self) -> Picture:
        if (written := self._file.stat().st_mtime_ns) != self._written:
            self._written, found = written, pickle.loads(self._file.read_bytes())  # noqa: S301 - of who started this
            assert isinstance(found, Picture)
            self._picture = found
        return self._picture


def _end_with_standard_input() -> None:
    os.read(0, 1)
    os._exit(0)


if __name__ == "__main__":
    # The page's packages take a second to import.
    from local.dashboard.server import serve

    threading.Thread(target=_end_with_standard_input, daemon=True).start()
    serve(Shown(Path(sys.argv[2])), int(sys.argv[1]))
