"""`python -m operate …`."""

from operate.cli import app

app(prog_name="python -m operate")
