"""A headless Chromium for tests and pictures, the same on every machine, without root.

npm's package `@sparticuz/chromium` contains it with its libraries and a font, all compressed; npm has checked it
against package-lock.json. Each version is unpacked once, into `.cache`. `CHROMIUM=/path/to/chrome` selects another one,
for example on a machine other than Linux on x86-64, the package's only platform. Tests and pictures unpack it when
needed.
"""

import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from contract.errors import UserError
from stacks.node import NODE
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "node_modules" / "@sparticuz" / "chromium"
CACHE = ROOT / ".cache" / "chromium"
OWN = "CHROMIUM"
ITS_MACHINE = ("linux", "x86_64")
# The package unpacks into the folder for temporary files.
INFLATE = """
import {inflate} from "@sparticuz/chromium";
await Promise.all(process.argv.slice(1).map((packed) => inflate(`bin/${packed}`)));
"""
INFLATE_S = 300
# This name resolves to this machine, as in DNS rebinding; the browser resolves no other.
FOREIGN = "foreign.example"
ARGUMENTS = (
    "--headless=shell",
    "--no-proxy-server",
    f"--host-resolver-rules=MAP {FOREIGN} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    "--font-render-hinting=none",
)
PACKED = ("chromium.br", "al2023.tar.br", "fonts.tar.br")
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}/fonts</dir><cachedir>{folder}/cache</cachedir></fontconfig>
"""


class ChromiumError(UserError):
    """There is no browser; the message is one line that says what to do."""


class OtherMachineError(ChromiumError):
    """The package's browser doesn't run on this machine."""


@dataclass(frozen=True, kw_only=True)
class Chromium:
    """A program and its environment."""

    program: Path
    environment: dict[str, str] = field(default_factory=dict)


def find() -> Chromium:
    """Return the browser, unpacked if necessary. Raises ChromiumError; OtherMachineError where it can't run."""
    if own := os.environ.get(OWN):
        if not Path(own).is_file():
            raise ChromiumError(f"{OWN}={own}: no such file")
        return Chromium(program=Path(own))
    if (sys.platform, platform.machine()) != ITS_MACHINE:
        raise OtherMachineError(f"the browser of node_modules is for {' on '.join(ITS_MACHINE)}: {OWN}= names your own")
    if not PACKAGE.is_dir():
        raise ChromiumError(f"no browser in node_modules: `make test` installs it; {OWN}= names one of your own")
    version = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))["version"]
    folder = CACHE / version
    if not folder.is_dir():
        _unpack(folder)
    _name_fonts(folder)
    # No library or font of the machine: either would change the browser.
    environment = {"LD_LIBRARY_PATH": str(folder / "lib"), "FONTCONFIG_FILE": str(folder / "fonts.conf")}
    return Chromium(program=folder / "chromium", environment=environment)


@contextlib.contextmanager
def launched() -> Iterator[Browser]:
    chromium = find()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium.program,
            args=list(ARGUMENTS),
            env={**os.environ, **chromium.environment},
            timeout=PATIENCE_S * 1000,
            # The sandbox needs rights that not every machine gives; all pages are served or created here.
            chromium_sandbox=False,
        )
        try:
            yield browser
        finally:
            browser.close()


def _unpack(folder: Path) -> None:
    """Have the package unpack itself; the folder appears only once complete, even if several processes unpack it.

    Raises ChromiumError.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}-") as name:
        made = Path(name) / "made"
        made.mkdir()
        done = _inflate(made)
        if done.returncode:
            raise ChromiumError(f"{PACKAGE} can't be unpacked: {done.stderr.strip().rpartition(chr(10))[2]}")
        (made / "al2023" / "lib").rename(made / "lib")
        with contextlib.suppress(OSError):  # another process has already put it there
            made.rename(folder)


def _inflate(folder: Path) -> "subprocess.CompletedProcess[str]":
    argv = [str(NODE), "--input-type=module", "-e", INFLATE, *PACKED]
    environment = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.run(
        argv, cwd=PACKAGE, env=environment, capture_output=True, text=True, check=False, timeout=INFLATE_S
    )


def _name_fonts(folder: Path) -> None:
    """Write where the fonts are, again if the clone was moved: without a font a text has no height."""
    named, file = FONTS.format(folder=folder.resolve()), folder / "fonts.conf"
    if not file.is_file() or file.read_text(encoding="utf-8") != named:
        file.write_text(named, encoding="utf-8")


def main() -> None:
    """Unpack the browser, or print that this machine has none; its tests are skipped then."""
    try:
        find()
    except OtherMachineError as error:
        print(error)
