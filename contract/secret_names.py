"""Names of settings, properties and text fields whose values are secrets.

The caller decides where such a word may stand: in a configuration's key, or before a value in a log line.
"""

import re

# As parts of a regular expression, in any case.
WORDS = r"passw(?:or)?d|passphrase|passwort|pwd|secret|token|credential|authorization|jaas"
KEYS = r"(?:access|api|private|account|shared|encryption|storage)[._-]?key"
_SECRET = re.compile(f"{WORDS}|{KEYS}|\\.key$", re.IGNORECASE)


def is_secret(name: str) -> bool:
    """Tell whether a configuration's key names a secret: `ssl.keystore.password`, `sasl.jaas.config`, `…ssl.key`."""
    return _SECRET.search(name.lower().replace("secretsmanager", "")) is not None
