"""Runs a command, and reaps its orphans, so that their CPU counts, too.

Linux hands orphans, such as a PostgreSQL started by pg_ctl, to this process instead of PID 1.
"""

import contextlib
import ctypes
import os
import sys

PR_SET_CHILD_SUBREAPER = 36


def main(argv: list[str]) -> int:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    child = os.posix_spawn(argv[0], argv, os.environ)
    ended = status = 0
    while ended != child:
        ended, status = os.wait()
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
