"""Rules for external databases (the narrowest network path, a verified server), and for restores."""

import re
from collections.abc import Iterator
from datetime import datetime
from ipaddress import IPv4Network

from contract import rds_ca
from contract.source import CONNECTOR_ROLE
from settings.environment import Environment
from settings.environment_pipeline import OutsideDatabase
from settings.rules.problem import Problem

# A database's subnets: after a failure its address may change within them.
MOST_ADDRESSES = 256
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----\n[A-Za-z0-9+/=\n]+\n-----END CERTIFICATE-----\n?")


def outbox(environment: Environment) -> Iterator[Problem]:
    """Require the names with which the deployment creates the outbox."""
    if (pipeline := environment.outbox) is None:
        return
    if (role := pipeline.connector_role) != CONNECTOR_ROLE:
        place = f"pipelines[{environment.pipelines.index(pipeline)}].role"
        yield place, f"the outbox's is {CONNECTOR_ROLE}: take {role} out"
    if (name := environment.database.name) != (read := pipeline.database_name):
        reason = f"gets the outbox, and pipelines/{pipeline.name}.toml reads {read}: set the same in both"
        yield "database.name", f"{name} {reason}"


def outside(environment: Environment) -> Iterator[Problem]:
    """Require each database's login, network, and server verification."""
    for number, pipeline in enumerate(environment.pipelines):
        if pipeline.database is not None:
            where = f"pipelines[{number}].database"
            if pipeline.captured.outbox is not None:
                reason = "captures the outbox, which is in the environment's own cluster: take it out"
                yield where, f"pipeline {pipeline.name} {reason}"
            yield from _secrets(environment, pipeline.database, where)
            yield from _network(environment, pipeline.database, where)
            yield from _server(environment, pipeline.database, where)


def _secrets(environment: Environment, database: OutsideDatabase, where: str) -> Iterator[Problem]:
    for key, secret in (("secret", database.secret), ("owner_secret", database.owner_secret)):
        if secret is None:
            continue
        region, account = secret.split(":")[3:5]
        if (region, account) != (environment.region, environment.account):
            yield (
                f"{where}.{key}",
                f"is of account {account} in {region}: put a secret of it into {environment.account} in "
                f"{environment.region}, or replicate it there",
            )
    if database.secret == database.owner_secret:
        yield (
            f"{where}.owner_secret",
            "is the connector's secret, whose role may only read: name that of a user who may prepare the "
            "database, or none and run `./lake source prepare`",
        )


def _network(environment: Environment, database: OutsideDatabase, where: str) -> Iterator[Problem]:
    if bool(database.cidrs) == (database.security_group is not None):
        yield (
            f"{where}.cidrs",
            "name the database's addresses, such as 10.1.2.3/32 or its subnets, or its security_group: one of the two",
        )
    own = IPv4Network(environment.network.cidr)
    for cidr in database.cidrs:
        if (size := IPv4Network(cidr).num_addresses) > MOST_ADDRESSES:
            yield (
                f"{where}.cidrs",
                f"{cidr} are {size:,} addresses, and the connectors would reach port {database.port} of each: name the "
                f"database's own, {MOST_ADDRESSES} at the most",
            )
        elif IPv4Network(cidr).overlaps(own):
            yield f"{where}.cidrs", f"{cidr} is in the environment's own VPC ({own}), where no database but its own is"


def _server(environment: Environment, database: OutsideDatabase, where: str) -> Iterator[Problem]:
    if environment.production and not database.is_verified:
        yield f"{where}.sslmode", 'encrypts, but doesn\'t ask who answers: set "verify-full"'
    if database.certificate is not None and not database.is_verified:
        yield f"{where}.certificate", 'isn\'t looked at with sslmode = "require": set "verify-full"'
    elif database.certificate is not None and not _CERTIFICATE.fullmatch(database.certificate):
        yield f"{where}.certificate", "must be one certificate as PEM: that of the authority that signs the server's"
    elif database.certificate is None and database.is_verified and not rds_ca.is_rds(database.host):
        yield (
            f"{where}.certificate",
            f"{database.host} isn't a host of RDS, whose authority we know: give the PEM of the authority that signs "
            "the server's certificate",
        )
    elif database.certificate is None and database.is_verified:
        try:
            _ = database.authority
        except ValueError as error:
            yield f"{where}.host", str(error)


WHERE = "database.restore"
_IDENTIFIER = r"[A-Za-z](?:-?[A-Za-z0-9])*"
_CLUSTER = re.compile(rf"(?:arn:aws[a-z-]*:rds:[a-z0-9-]+:[0-9]{{12}}:cluster:)?{_IDENTIFIER}")
# Snapshots that RDS creates automatically have a prefix before a colon, such as rds:.
_SNAPSHOT = re.compile(rf"(?:arn:aws[a-z-]*:rds:[a-z0-9-]+:[0-9]{{12}}:cluster-snapshot:)?(?:[a-z]+:)?{_IDENTIFIER}")


def restore(environment: Environment) -> Iterator[Problem]:
    """Require one origin, and a moment only for an origin with several."""
    wanted = environment.database.restore
    if wanted is None:
        return
    if (wanted.snapshot is None) == (wanted.cluster is None):
        yield WHERE, "name what to restore: either `snapshot`, or `cluster` with the `time` it should be as of"
    if wanted.snapshot is not None:
        yield from _snapshot(wanted.snapshot, environment.region)
        if wanted.time is not None:
            yield f"{WHERE}.time", "goes with `cluster`: a snapshot is of one moment"
    if wanted.cluster is not None and not _CLUSTER.fullmatch(wanted.cluster):
        yield f"{WHERE}.cluster", "must be a cluster's identifier, or its ARN"
    if wanted.cluster == environment.database_cluster:
        yield f"{WHERE}.name", f"{wanted.cluster} can't be restored from itself: choose another name"
    if wanted.time is not None and not _is_time(wanted.time):
        yield f"{WHERE}.time", "must be a moment in UTC such as 2026-11-21T10:30:00Z"
    if environment.outbox is None:
        yield (
            WHERE,
            "the outbox's preparation gives a restored cluster's master its new password, and no pipeline here has the "
            "outbox: add `orders`, or restore by hand and name it by [pipelines.database]",
        )
    if environment.database.sample_data:
        yield "database.sample_data", "a restored database has its own data: set false"


def _snapshot(snapshot: str, region: str) -> Iterator[Problem]:
    if not _SNAPSHOT.fullmatch(snapshot):
        yield f"{WHERE}.snapshot", "must be a cluster snapshot's identifier, or its ARN"
    elif snapshot.startswith("arn:") and snapshot.split(":")[3] != region:
        yield f"{WHERE}.snapshot", f"is of another region: copy it to {region} first"


def _is_time(text: str) -> bool:
    try:
        datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")  # noqa: DTZ007  the Z is matched
    except ValueError:
        return False
    return True
