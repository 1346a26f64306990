"""What a setting, a property or a piece of text is called when its value is a secret.

Each user says where such a word may stand: in a key of a configuration, in a log line before a value.
"""

import re

# As parts of a regular expression, in any case.
WORDS = r"passw(?:or)?d|passphrase|passwort|pwd|secret|token|credential|authorization|jaas"
KEYS = r"(?:access|api|private|account|shared|encryption|storage)[._-]?key"
_SECRET = re.compile(f"{WORDS}|{KEYS}|\\.key$", re.IGNORECASE)


def is_secret(name: str) -> bool:
    """Tell whether a configuration's key names a secret: `ssl.keystore.password`, `sasl.jaas.config`, `…ssl.key`."""
    return _SECRET.search(name.lower().replace("secretsmanager", "")) is not None
