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
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from local.dashboard.watcher import Picture
from local.setup.ports import HOST, is_free
from tests.conftest import free_port

ROOT = Path(__file__).resolve().parents[2]
START_S = 180
END_S = 60


@dataclass(frozen=True, kw_only=True)
class Served:
    port: int

    @property
    def url(self) -> str:
        """Its URL for a browser."""
        return f"http://{HOST}:{self.port}/"


@dataclass(frozen=True, kw_only=True)
class Still(Served):
    """A page that shows a test's pictures, without a platform; the file holds the picture."""

    file: Path

    def show(self, picture: Picture) -> None:
        """Make the page show this picture."""
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
    deadline = time.monotonic() + START_S
    while is_free(port):
        assert process.poll() is None, "the page's server has ended"
        assert time.monotonic() < deadline, f"nobody listens on {port} after {START_S} s"
        time.sleep(0.05)


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
    # The page's packages take a second to import.
    from local.dashboard.server import serve

    serve(Shown(Path(sys.argv[2])), int(sys.argv[1]))
