"""The OS account that a service runs as when it refuses to run as root."""

import os
import pwd
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from local.errors import PlatformError

# There on every Linux and macOS.
UNPRIVILEGED = "nobody"


class Identity(TypedDict, total=False):
    """The arguments of subprocess that make a child run as another account; none for our own."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True)
class Account:
    """An account by its numbers."""

    uid: int
    gid: int

    @property
    def identity(self) -> Identity:
        """What makes a child run as it."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def may_enter(self, folder: Path) -> bool:
        """Tell whether the account may pass through `folder` and all its parents, as far as they are there."""
        return all(self._may_pass(part.stat()) for part in (folder, *folder.parents) if part.exists())

    def _may_pass(self, status: os.stat_result) -> bool:
        if status.st_uid == self.uid:
            return bool(status.st_mode & 0o100)
        if status.st_gid == self.gid:
            return bool(status.st_mode & 0o010)
        return bool(status.st_mode & 0o001)


def unprivileged_account() -> Account | None:
    """Return the account to run as in place of root, None when we aren't root. Raises PlatformError without one."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(UNPRIVILEGED)
    except KeyError as error:
        raise PlatformError(
            f"PostgreSQL doesn't run as root and there is no account {UNPRIVILEGED!r}: run as an ordinary user"
        ) from error
    return Account(entry.pw_uid, entry.pw_gid)
