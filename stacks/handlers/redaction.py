"""Takes secrets out of text that others wrote: a worker's log line, a service's message.

By what stands before a value (a name that sounds like a secret's) or around it (a URL, an authorization header, an
access key's own form). It can't know every secret: what is shown is as short as it can be, too.
"""

import re

from contract.secret_names import KEYS, WORDS

HIDDEN = "[hidden]"
_NAME = rf"(?<![\w.-])[\w.-]*(?:{WORDS}|{KEYS})[\w.-]*"
# Between a name and its value: `=`, `:`, `=>`, JSON's quotes, SQL's blank before a literal.
_BETWEEN = r"""(?:\\*["']?\s*(?:=>?|:=?)\s*|\s+(?=["']))"""
# A literal up to the quote that ends it, or to the end; a scheme and its credentials; anything else.
_VALUE = (
    r"""(?:\\+["'](?:(?!\\+["']).)*(?:\\+["']|$)|(?P<quote>["'])(?:\\.|(?!(?P=quote)).)*(?:(?P=quote)|$)"""
    r"""|\$\{[^}]*\}|(?:bearer|basic|digest|negotiate|aws4-hmac-sha256)\s+\S+|\S+)"""
)
_NAMED = re.compile(f"(?P<name>{_NAME})(?P<between>{_BETWEEN}){_VALUE}", re.IGNORECASE | re.DOTALL)
# `//user:password@host`, and whatever a password has in it: up to the last @ of the word.
_IN_URL = re.compile(r"""(?<=//)[^\s/:@"']*:[^\s"']*@""")
_SCHEME = re.compile(r"(?P<name>\b(?:bearer|basic)\s+)[\w.~+/=-]{6,}", re.IGNORECASE)
# IAM user guide, "Unique identifiers": AKIA is an access key's, ASIA a temporary one's.
_ACCESS_KEY = re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")


def hidden(text: str) -> str:
    """Return it without what looks like a secret; a reference such as `${secretsmanager:…}` goes with it."""
    text = _IN_URL.sub(f"{HIDDEN}@", text)
    text = _NAMED.sub(lambda found: f"{found['name']}{found['between']}{HIDDEN}", text)
    text = _SCHEME.sub(lambda found: f"{found['name']}{HIDDEN}", text)
    return _ACCESS_KEY.sub(HIDDEN, text)
