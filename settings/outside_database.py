"""A database that the stacks don't create: `[pipelines.database]` of an environment's file."""

from typing import Annotated, Literal

from pydantic import Field

from contract import rds_ca
from settings.pipeline import DatabaseName
from settings.section import Cidrs, Section

# A name or an IPv4 address, as PostgreSQL's clients take it.
Host = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$")]
# Complete, with the six characters that Secrets Manager adds, so that rights on it cover no other secret.
SecretArn = Annotated[
    str,
    Field(pattern=r"^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+-[A-Za-z0-9]{6}$"),
]
SecurityGroup = Annotated[str, Field(pattern=r"^sg-[0-9a-f]{8,17}$")]
_SUFFIX = 7


class OutsideDatabase(Section):
    """The database's location, its logins, and how its server is verified.

    `name`: the database there, the pipeline file's by default. `secret`: JSON with `username`, the pipeline's role, and
    `password`. `owner_secret`: the login of a user who may prepare the database; without one a DBA does (`./lake source
    prepare`), and the deployment checks that everything exists. `certificate`: the authority's, as PEM; RDS's for its
    servers. `cidrs` or `security_group`: its place in the network, to which the connectors' egress is opened.
    """

    host: Host
    port: Annotated[int, Field(ge=1, le=65_535)] = 5432
    name: DatabaseName | None = None
    secret: SecretArn
    owner_secret: SecretArn | None = None
    sslmode: Literal["require", "verify-ca", "verify-full"] = "verify-full"
    certificate: str | None = None
    cidrs: Cidrs = ()
    security_group: SecurityGroup | None = None

    @property
    def secret_name(self) -> str:
        """The connector's secret as the worker's config provider takes it: a reference can't have an ARN's colons."""
        return self.secret.partition(":secret:")[2][:-_SUFFIX]

    @property
    def is_verified(self) -> bool:
        return self.sslmode != "require"

    @property
    def authority(self) -> str | None:
        """The PEM that verifies the server, None if it isn't verified. Raises ValueError for an unknown authority."""
        if not self.is_verified:
            return None
        if self.certificate is not None:
            return self.certificate
        return rds_ca.root(rds_ca.region_of(self.host))
