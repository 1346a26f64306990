"""`python -m cli`, which `./lake` starts."""

import io
import os
import sys
import traceback
from pathlib import Path

from cli import aws, dev, kafka, source
from cli.run import app as app
from contract.errors import CANNOT

for name, group in (("source", source.app), ("kafka", kafka.app), ("aws", aws.app), ("dev", dev.app)):
    app.add_typer(group, name=name)


def main() -> None:
    """Run `./lake`. A mistake of ours ends it with its traceback and CANNOT: Python's own status would be an answer."""
    # None: closed by the caller.
    sys.stdin = sys.stdin or Path(os.devnull).open()  # noqa: SIM115  (until the end)
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Other encodings than UTF-8 lack some of our signs.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        # As completion registers it: bash finds `./lake` by it, too.
        app(prog_name="lake")
    except Exception:  # noqa: BLE001
        traceback.print_exc()
        sys.exit(CANNOT)


if __name__ == "__main__":
    main()
