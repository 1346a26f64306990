"""How a handler logs in to a server that a request describes: `host`, `port`, `database`, `sslmode`, `certificate`."""

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from db.secret import connection_parameters


@contextlib.contextmanager
def login(wanted: Mapping[str, Any], secret: str) -> Iterator[dict[str, Any]]:
    """Give how the user of a secret logs in; libpq takes certificates from files alone. Raises LoadError."""
    parameters: dict[str, Any] = {
        **{key: value for key, value in connection_parameters(secret).items() if key in ("user", "password")},
        "host": wanted["host"],
        "port": wanted["port"],
        "dbname": wanted["database"],
        "sslmode": wanted["sslmode"],
    }
    with tempfile.TemporaryDirectory() as folder:
        if wanted["certificate"]:
            root = Path(folder, "root.pem")
            root.write_text(wanted["certificate"], encoding="ascii")
            parameters["sslrootcert"] = str(root)
        yield parameters
