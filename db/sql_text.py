"""The SQL files as they are run: with the contract's names in the place of those that they spell out.

The files are plain SQL, which can be read, and run by psql, as they stand; placeholders in 300 places would take that
away. So they spell out the names that the contract has today, and each whole word that is one of them is replaced.
"""

import re
from pathlib import Path

from contract import source
from contract.capture_objects import CONNECTOR_ROLE

SQL_FOLDER = Path(__file__).resolve().parent / "sql"
# What the files say → what it is called.
SPELLED_OUT = {
    "datalake": source.SCHEMA,
    "cdc_events": source.OUTBOX_TABLE,
    "cdc_heartbeat": source.HEARTBEAT_TABLE,
    "outbox_beat": source.HEARTBEAT_PROCEDURE,
    "cdc_publication": source.PUBLICATION,
    "cdc_connector": CONNECTOR_ROLE,
}
_NAME = re.compile(rf"\b(?:{'|'.join(SPELLED_OUT)})\b")


def text_of(name: str) -> str:
    """Return a file of the SQL folder."""
    return _NAME.sub(lambda found: SPELLED_OUT[found[0]], (SQL_FOLDER / name).read_text(encoding="utf-8"))
