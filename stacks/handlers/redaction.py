"""Removes secrets from text that others wrote: a worker's log line, a service's message.

It goes by the text before a value (a name that sounds like a secret's) or around it (a URL, an authorization header, an
access key's own form). It can't know every secret, so the text shown should also be as short as possible.
"""

import re

from contract.secret_names import KEYS, WORDS

HIDDEN = "[hidden]"
_NAME = rf"(?<![\w.-])[\w.-]*(?:{WORDS}|{KEYS})[\w.-]*"
# Between a name and its value: `=`, `:`, `=>`, JSON's quotes, SQL's blank before a literal.
_BETWEEN = r"""(?:\\*["']?\s*(?:=>?|:=?)\s*|\s+(?=["']))"""
# A literal up to its closing quote, or to the end; a scheme and its credentials; anything else.
_VALUE = (
    r"""(?:\\+["'](?:(?!\\+["']).)*(?:\\+["']|$)|(?P<quote>["'])(?:\\.|(?!(?P=quote)).)*(?:(?P=quote)|$)"""
    r"""|\$\{[^}]*\}|(?:bearer|basic|digest|negotiate|aws4-hmac-sha256)\s+\S+|\S+)"""
)
_NAMED = re.compile(f"(?P<name>{_NAME})(?P<between>{_BETWEEN}){_VALUE}", re.IGNORECASE | re.DOTALL)
# `//user:password@host`; the password may contain any character, so match up to the word's last @.
_IN_URL = re.compile(r"""(?<=//)[^\s/:@"']*:[^\s"']*@""")
_SCHEME = re.compile(r"(?P<name>\b(?:bearer|basic)\s+)[\w.~+/=-]{6,}", re.IGNORECASE)
# IAM user guide, "Unique identifiers": AKIA is an access key's, ASIA a temporary one's.
_ACCESS_KEY = re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")


def hidden(text: str) -> str:
    """Replace everything that looks like a secret, including references such as `${secretsmanager:…}`."""
    text = _IN_URL.sub(f"{HIDDEN}@", text)
    text = _NAMED.sub(lambda found: f"{found['name']}{found['between']}{HIDDEN}", text)
    text = _SCHEME.sub(lambda found: f"{found['name']}{HIDDEN}", text)
    return _ACCESS_KEY.sub(HIDDEN, text)
