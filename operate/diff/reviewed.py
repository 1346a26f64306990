"""The last reviewed state of an environment's templates: the snapshots of another git revision.

A commit renews its own snapshots, so a comparison with those shows nothing. The tag `reviewed-<environment>` says what
was reviewed last; without it, that is where HEAD has left the main branch.
"""

import io
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from local.setup.jars import unpack
from operate.diff import snapshots
from operate.errors import OperateError
from settings.environment import Environment
from settings.load import SettingsFileError

ROOT = Path(__file__).resolve().parents[2]
MAIN = ("origin/main", "main")
_FOLDERS = ("tests/snapshots", "environments")
_INSTEAD = "give --against REVISION, or `./lake aws diff --deployed`"


@dataclass(frozen=True, kw_only=True)
class Revision:
    """A commit that templates are compared with; `own`: nobody has named it, and HEAD is this commit itself."""

    commit: str
    name: str
    own: bool = False

    def __str__(self) -> str:
        return f"{self.name} ({self.commit[:7]})"


def not_compared(reason: str) -> OperateError:
    return OperateError(f"not compared: {reason}; {_INSTEAD}")


def revision(environment: str, against: str | None = None) -> Revision:
    """Return the revision `against`, or the last reviewed one. Raises OperateError."""
    if against is not None:
        if against.startswith("-") or not (commit := _commit(against)):
            raise not_compared(f"git knows no revision {against}{_shallow()}")
        return Revision(commit=commit, name=against)
    tag = f"reviewed-{environment}"
    if commit := _commit(f"refs/tags/{tag}"):
        return Revision(commit=commit, name=tag)
    main = next((name for name in MAIN if _commit(name)), None)
    if main is None:
        raise not_compared(f"there is neither a tag {tag} nor a branch main{_shallow()}")
    commit = _git("merge-base", "HEAD", main).stdout.decode().strip()
    if not commit:
        raise not_compared(f"HEAD and {main} have no commit in common{_shallow()}")
    return Revision(commit=commit, name=f"where HEAD leaves {main}", own=commit == _commit("HEAD"))


def read(environment: Environment, of: Revision) -> dict[str, dict[str, Any]]:
    """Read an environment's snapshot of a revision, by stack. Raises OperateError."""
    done = _git("archive", "--format=tar", of.commit, "--", *_FOLDERS)
    if done.returncode:
        raise not_compared(f"{of} has no {' or no '.join(_FOLDERS)}")
    with TemporaryDirectory() as folder, tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        unpack(archive, Path(folder))
        there, settings = (Path(folder, name) for name in _FOLDERS)
        if not list((there / environment.name).glob("*.json")):
            raise not_compared(f"{of} has no tests/snapshots/{environment.name}")
        try:
            return snapshots.read(environment, there, settings)
        except (OperateError, SettingsFileError) as error:
            raise not_compared(f"the snapshots of {of} can't be read: {error}") from None


def _commit(name: str) -> str:
    """Return the commit that a revision is; empty if git doesn't know it."""
    return _git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").stdout.decode().strip()


def _shallow() -> str:
    is_shallow = _git("rev-parse", "--is-shallow-repository").stdout.strip() == b"true"
    return " (this clone is shallow: `git fetch --unshallow --tags` gets the rest)" if is_shallow else ""


def _git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run git in the project's folder. Raises OperateError if it isn't there, or this isn't a repository."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
    except FileNotFoundError:
        raise not_compared("git isn't installed") from None
    if b"not a git repository" in done.stderr or b"dubious ownership" in done.stderr:
        raise not_compared(f"git says: {done.stderr.decode().splitlines()[0]}")
    return done
