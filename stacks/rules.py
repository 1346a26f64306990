"""Settings that are fine each by itself and wrong together, or that AWS would refuse only after minutes of deploying.

Every rule yields `(key, reason)` for what it refuses. The reason is one line and says what to do instead.
"""

import json
import re
from collections.abc import Callable, Iterator
from ipaddress import IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING

from contract import rds_ca
from contract.sizes import DERIVED_KEYS
from plugins import connectors, kcql, sink_properties
from plugins.versions import load_versions
from stacks import addresses, catalogue, emr_catalogue
from stacks.connector_settings import sink_settings, topics

if TYPE_CHECKING:
    from stacks.environment import Environment

Problem = tuple[str, str]
Rule = Callable[["Environment"], Iterator[Problem]]
JOBS = Path(__file__).resolve().parents[1] / "spark_jobs"
MINIMUM_ZONES = 2
SMALLEST_VPC = 20
# The addresses that stacks/userdata/softether.sh gives VPN clients.
VPN_CLIENTS = IPv4Network("192.168.30.0/24")
LONGEST_PASSWORD_DAYS = 90
# Keys that the stacks fill in: another value would cut the pipeline in two.
_OWN_KEYS = frozenset(
    {
        "connector.class",
        "connect.s3.kcql",
        "database.dbname",
        "database.hostname",
        "database.sslmode",
        "database.user",
        "driver.sslfactory",
        "driver.sslfactoryarg",
        "name",
        "publication.name",
        "slot.name",
        "table.include.list",
        "tasks.max",
        "topic.prefix",
        "topics",
    }
)
_SECRET_KEY = re.compile(r"passw|secret|token|credential|\.key$|access\.key|jaas", re.IGNORECASE)
_REFERENCE = re.compile(r"\$\{secretsmanager:[^${}:]+:[^${}:]+\}")


def broken(environment: "Environment") -> list[Problem]:
    """Return what the rules refuse in this environment, as (key, reason)."""
    return [problem for rule in RULES for problem in rule(environment)]


def _zones(environment: "Environment") -> Iterator[Problem]:
    zones = environment.availability_zones
    if len(set(zones)) < MINIMUM_ZONES:
        yield "availability_zones", "MSK spreads its brokers over at least 2 zones: name 2 different ones"
    for zone in zones:
        if not re.fullmatch(rf"{re.escape(environment.region)}[a-z]", zone):
            yield "availability_zones", f"{zone!r} isn't a zone of {environment.region}"


def _certificate(environment: "Environment") -> Iterator[Problem]:
    try:
        rds_ca.root(environment.region)
    except ValueError as error:
        yield "region", str(error)


def _network(environment: "Environment") -> Iterator[Problem]:
    network = IPv4Network(environment.network.cidr)
    if not network.is_private:
        yield "network.cidr", f"{network} isn't private: choose from 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16"
    if not 16 <= network.prefixlen <= SMALLEST_VPC:
        yield "network.cidr", f"{network} must be from /16 (AWS's largest VPC) to /{SMALLEST_VPC} (our subnets)"
    if network.overlaps(VPN_CLIENTS):
        yield "network.cidr", f"{network} overlaps {VPN_CLIENTS}, the addresses of VPN clients: choose another network"


def _vpn(environment: "Environment") -> Iterator[Problem]:
    if not environment.vpn.client_cidrs:
        yield "vpn.client_cidrs", "is empty, so that nobody could connect: name the networks that clients come from"
    if reason := addresses.too_many(environment.vpn.management_cidrs):
        yield (
            "vpn.management_cidrs",
            f"opens VPN management to {reason}: name your own network, or none and use Session Manager",
        )
    users = environment.vpn.users
    for user in sorted({user for user in users if users.count(user) > 1}):
        yield "vpn.users", f"{user!r} is named twice"
    if environment.production:
        yield from _production_vpn(environment)


def _production_vpn(environment: "Environment") -> Iterator[Problem]:
    if reason := addresses.too_many(environment.vpn.client_cidrs):
        yield "vpn.client_cidrs", f"lets {reason} try passwords: name the networks that your people come from"
    if not 1 <= environment.vpn.password_rotation_days <= LONGEST_PASSWORD_DAYS:
        yield "vpn.password_rotation_days", f"production's passwords last from 1 to {LONGEST_PASSWORD_DAYS} days"


def _production(environment: "Environment") -> Iterator[Problem]:
    if not environment.production:
        if environment.name == "prod":
            yield "production", "must be true in an environment that is named prod"
        return
    if environment.removal_policy == "destroy":
        yield "removal_policy", 'production data must survive `cdk destroy`: set "retain"'
    if not environment.database.deletion_protection:
        yield "database.deletion_protection", "must be true in production"
    if environment.database.sample_data:
        yield "database.sample_data", "production gets no sample data: set false"
    if environment.database.instances < 2:
        yield "database.instances", "production needs a reader to fail over to: set 2 or more"


def _database(environment: "Environment") -> Iterator[Problem]:
    settings = environment.database
    if settings.engine_version not in catalogue.AURORA_POSTGRESQL_VERSIONS:
        known = ", ".join(catalogue.AURORA_POSTGRESQL_VERSIONS)
        yield "database.engine_version", f"{settings.engine_version} isn't an Aurora PostgreSQL 16 of ours: {known}"
    if settings.instance_class not in catalogue.AURORA_INSTANCE_CLASSES:
        known = ", ".join(catalogue.AURORA_INSTANCE_CLASSES)
        yield "database.instance_class", f"{settings.instance_class} isn't one of {known}"
    if settings.deletion_protection and environment.removal_policy == "destroy":
        yield "database.deletion_protection", 'would make `cdk destroy` fail: set false, or removal_policy = "retain"'


def _streaming(environment: "Environment") -> Iterator[Problem]:
    settings = environment.streaming
    if settings.kafka_version not in catalogue.MSK_KAFKA_VERSIONS:
        known = ", ".join(catalogue.MSK_KAFKA_VERSIONS)
        yield "streaming.kafka_version", f"{settings.kafka_version} isn't an MSK version that we know: {known}"
    if settings.broker_type.startswith("kafka.t3."):
        yield (
            "streaming.broker_type",
            f"{settings.broker_type} takes one new TCP connection per broker and second, so that IAM authentication of "
            "the connectors fails: kafka.m5.large is the smallest that works",
        )
    elif settings.broker_type not in catalogue.MSK_BROKER_TYPES:
        known = ", ".join(catalogue.MSK_BROKER_TYPES)
        yield "streaming.broker_type", f"{settings.broker_type} isn't a broker type that we know: {known}"
    if settings.brokers % len(environment.availability_zones):
        zones = len(environment.availability_zones)
        yield "streaming.brokers", f"{settings.brokers} brokers don't spread evenly over {zones} zones"


def _connectors(environment: "Environment") -> Iterator[Problem]:
    version = environment.connectors.kafka_connect_version
    if version not in catalogue.MSK_CONNECT_VERSIONS:
        known = ", ".join(catalogue.MSK_CONNECT_VERSIONS)
        yield "connectors.kafka_connect_version", f"{version} isn't a version that MSK Connect has: {known}"
    for name in ("source", "sink"):
        configuration = getattr(environment.connectors, name).configuration
        for key, value in configuration.items():
            where = f"connectors.{name}.configuration.{key}"
            if key in _OWN_KEYS:
                yield where, "is filled in by the stacks: take it out"
            elif key in DERIVED_KEYS:
                yield where, "follows from streaming.largest_event_mib: set that instead"
            elif key.startswith("topic.creation."):
                yield (
                    where,
                    "topics are made by the deployment; how long they keep events: streaming.topic_retention_hours",
                )
            elif name == "source" and value != connectors.source_values().get(key, value):
                yield where, f"the job relies on {connectors.source_values()[key]!r}: take it out"
            elif _SECRET_KEY.search(key) and not _REFERENCE.fullmatch(value):
                # The value isn't repeated: it may be a password.
                yield where, "a secret in plain text: write ${secretsmanager:<name of the secret>:<key>}"


def _sink(environment: "Environment") -> Iterator[Problem]:
    topic = connectors.events_topic(environment.connectors.topic_prefix)
    landing = environment.bucket_name("landing")
    given = environment.connectors.sink.kcql is not None
    try:
        sink = sink_settings(environment)
    except ValueError as error:
        version = load_versions().lenses_s3.version
        yield (
            ("connectors.sink.kcql", f"doesn't fit the pinned S3 sink {version}: {error}")
            if given
            else ("connectors.sink", str(error))
        )
        return
    config = connectors.sink_connector(sink)
    given_keys = environment.connectors.sink.configuration
    for key, reason in sink_properties.problems(config | given_keys):
        if key in given_keys and key not in _OWN_KEYS:
            yield f"connectors.sink.configuration.{key}", reason
    if environment.production and sink.partition_by:
        key = "connectors.sink.kcql" if given else "connectors.sink.partition_by"
        yield key, f"production takes no PARTITIONBY: {kcql.PARTITION_LOSS}. Leave it out"
    if sink.topic != topic:
        yield "connectors.sink.kcql", f"reads {sink.topic}, but the source connector writes {topic}"
    if sink.bucket != landing:
        yield "connectors.sink.kcql", f"writes to {sink.bucket}: write {{landing}} for the stack's bucket"


def _dead_letters(environment: "Environment") -> Iterator[Problem]:
    if environment.connectors.sink.dead_letter_topic is None:
        return
    try:
        topics(environment)
    except ValueError as error:
        # What the sink alone is wrong with, its own rule says.
        if "two topics" in str(error):
            yield "connectors.sink.dead_letter_topic", f"{error}: choose another name"


def _tables(environment: "Environment") -> Iterator[Problem]:
    """From end to end: outbox table → topic → schema → Glue table."""
    topic = connectors.events_topic(environment.connectors.topic_prefix)
    for field in ("name", "path"):
        values = [getattr(table, field) for table in environment.tables]
        for value in sorted({value for value in values if values.count(value) > 1}):
            yield f"tables.{field}", f"{value!r} is given twice: two jobs would write the same table"
    for number, table in enumerate(environment.tables):
        where = f"tables[{number}]"
        if table.topic != topic:
            yield f"{where}.topic", f"{table.topic} isn't what the source connector writes: {topic}"
        yield from _table_files(where, table.schema_file, table.properties, environment.connectors.topic_prefix)


def _table_files(where: str, schema_file: str, properties: str, topic_prefix: str) -> Iterator[Problem]:
    if not (JOBS / "conf" / properties).is_file():
        yield f"{where}.properties", f"there is no spark_jobs/conf/{properties}"
    path = JOBS / "schemas" / schema_file
    if not path.is_file():
        yield f"{where}.schema", f"there is no spark_jobs/schemas/{schema_file}"
        return
    schema = json.loads(path.read_text(encoding="utf-8"))
    full_name = f"{schema.get('namespace')}.{schema.get('name')}"
    if full_name != connectors.EVENTS_TABLE:
        topic = connectors.events_topic(topic_prefix)
        yield f"{where}.schema", f"{schema_file} describes {full_name}, but {topic} carries {connectors.EVENTS_TABLE}"


def _lake(environment: "Environment") -> Iterator[Problem]:
    if environment.lake.database != connectors.SCHEMA:
        yield (
            "lake.database",
            f"{environment.lake.database} isn't the schema that the events come from ({connectors.SCHEMA}): the "
            "queries and the dashboard use one name from end to end",
        )
    if environment.lake.landing_expiry_days * 24 * 60 <= environment.monitoring.commit_age_minutes:
        yield "lake.landing_expiry_days", "objects would expire before an alarm says that the job doesn't read them"


def _processing(environment: "Environment") -> Iterator[Problem]:
    settings = environment.processing
    if settings.release not in emr_catalogue.RELEASES:
        known = ", ".join(sorted(emr_catalogue.RELEASES))
        yield "processing.release", f"{settings.release} isn't a release that the job was written for: {known}"
    types = emr_catalogue.INSTANCE_TYPES.get(environment.region)
    if types is None:
        known = ", ".join(sorted(emr_catalogue.INSTANCE_TYPES))
        yield "region", f"we have no list of EMR instance types for {environment.region}, only for {known}"
        return
    for key in ("primary_instance_type", "core_instance_type"):
        if (chosen := getattr(settings, key)) not in types:
            yield f"processing.{key}", f"EMR has no {chosen} in {environment.region}: {', '.join(sorted(types))}"
    if 0 < settings.maximum_core_instances < settings.core_instances:
        yield "processing.maximum_core_instances", "must be 0 (no managed scaling) or at least core_instances"
    for application in settings.applications:
        if application not in emr_catalogue.APPLICATIONS:
            known = ", ".join(sorted(emr_catalogue.APPLICATIONS))
            yield "processing.applications", f"{application!r} isn't one of {known}"
    if not {"Hadoop", "Hive", "Spark"} <= set(settings.applications):
        yield "processing.applications", "Hadoop, Hive and Spark are needed by the job"
    if {"Presto", "Trino"} <= set(settings.applications):
        yield "processing.applications", "EMR installs Presto or Trino, not both on one cluster: choose one"


RULES: tuple[Rule, ...] = (
    _zones,
    _certificate,
    _network,
    _vpn,
    _production,
    _database,
    _streaming,
    _connectors,
    _sink,
    _dead_letters,
    _tables,
    _lake,
    _processing,
)
