"""`python -m cli`, which `./lake` starts."""

from cli import aws, dev, kafka, source
from cli.run import app as app

for name, group in (("source", source.app), ("kafka", kafka.app), ("aws", aws.app), ("dev", dev.app)):
    app.add_typer(group, name=name)

if __name__ == "__main__":
    # As completion registers it: bash finds `./lake` by it, too.
    app(prog_name="lake")
