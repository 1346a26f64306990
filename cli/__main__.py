"""`python -m cli`, which `./lake` starts."""

import sys
import traceback

from cli import aws, dev, kafka, source
from cli.run import app as app
from contract.errors import CANNOT

for name, group in (("source", source.app), ("kafka", kafka.app), ("aws", aws.app), ("dev", dev.app)):
    app.add_typer(group, name=name)


def main() -> None:
    """Run `./lake`. A mistake of ours ends it with its traceback and CANNOT: Python's own status would be an answer."""
    try:
        # As completion registers it: bash finds `./lake` by it, too.
        app(prog_name="lake")
    except Exception:  # noqa: BLE001
        traceback.print_exc()
        sys.exit(CANNOT)


if __name__ == "__main__":
    main()
