"""`./lake dev lock plugins`: downloads the releases in versions.toml and writes each file's size and SHA-256 into it.

An already pinned file is downloaded too and compared: a release that changed under its version is an error,
not a new pin.
"""

import re
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

from contract.errors import CANNOT, one_line_errors, show
from plugins.releases.download import ArchiveError, Digest, download
from plugins.releases.versions import OPTIONAL, VERSIONS_TOML, Release, load_versions


def main(path: Annotated[Path, typer.Option("--file", help="The file to fill in.")] = VERSIONS_TOML) -> None:
    """Download every release and pin it by size and SHA-256; exit status 3 if this fails for a deployed one."""
    with one_line_errors("error"):
        releases = load_versions(path).releases
        failed = {name for name, release in releases.items() if not _lock(path, name, release)}
    sys.exit(CANNOT if failed - OPTIONAL else 0)


def pin(text: str, table: str, found: Digest) -> str:
    """Write a file's size and SHA-256 into its table of a versions.toml, leaving every other line unchanged.

    Raises ValueError unless the table has one line for each.
    """
    head, name, rest = text.partition(f"\n[{table}]\n")
    body, following, tail = rest.partition("\n[")
    body, sizes = re.subn(r"^size = \d+$", f"size = {found.size}", body, flags=re.MULTILINE)
    body, hashes = re.subn(r'^sha256 = "\w*"$', f'sha256 = "{found.sha256}"', body, flags=re.MULTILINE)
    if (sizes, hashes) != (1, 1):
        raise ValueError(f'[{table}] needs one line `size = …` and one line `sha256 = "…"`')
    pinned = head + name + body + following + tail
    tomllib.loads(pinned)
    return pinned


def _lock(path: Path, name: str, release: Release) -> bool:
    """Download and pin one release; report the result in one line."""
    try:
        found = _bring(name, release)
        if release.pinned and found != Digest(size=release.size or 0, sha256=release.sha256 or ""):
            raise ArchiveError(
                f"{release.file} has SHA-256 {found.sha256}, pinned is {release.sha256}: if its version was changed on "
                f"purpose, empty its sha256 in {path.name} and run `./lake dev lock plugins` again"
            )
        _replace(path, pin(path.read_text(), name, found))
    except (ArchiveError, OSError, ValueError) as error:
        show(f"error: {name}", error)
        return False
    typer.echo(f"{name}: {release.file}, {found.size:,} bytes, SHA-256 {found.sha256}")
    return True


def _bring(name: str, release: Release) -> Digest:
    columns = (TextColumn("{task.description:<16}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    bar = Progress(*columns, transient=True, disable=not sys.stdout.isatty())
    with tempfile.TemporaryDirectory() as folder, bar as progress:
        task = progress.add_task(name, total=release.size)
        return download(
            release.url, Path(folder) / release.file, on_chunk=lambda size: progress.update(task, completed=size)
        )


def _replace(path: Path, text: str) -> None:
    """Write the whole file or nothing."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text)
    partial.replace(path)
