"""Environments for tests: several pipelines, queried ones, connectors on EKS; and groups of workers."""

import shutil
from pathlib import Path

from contract import rds_ca
from plugins.workers.connect_workers import BROKERS, IAM_LOGIN, OFFSETS, worker_properties
from settings.environment import Environment
from settings.load import load
from stacks.connectors.manifests import PLUGINS, WorkerGroup
from tests.settings.pipelines import add_to, copied_pipelines, write_pipeline
from tests.stacks.settings import change, copied

WIDE = tuple(f"table{number:02}" for number in range(12))
SHOP = ("orders", "items")
DIRECT = 'first_load = "direct"'
SECRETS = "arn:aws:secretsmanager:ap-southeast-2:111111111111:secret:"
# A server prepared by a DBA, and one on RDS, which the deployment prepares.
CRM = (
    "[pipelines.database]",
    'host = "crm.example.internal"',
    "port = 5433",
    f'secret = "{SECRETS}crm/connector-AbCdEf"',
    f'certificate = """{rds_ca.root("eu-central-1")}"""',
    'cidrs = ["10.1.2.3/32", "10.1.3.0/28"]',
)
ERP = (
    "[pipelines.database]",
    'host = "erp.abcdefghij.eu-west-1.rds.amazonaws.com"',
    'name = "erp_live"',
    f'secret = "{SECRETS}erp/connector-GhIjKl"',
    f'owner_secret = "{SECRETS}erp/owner-MnOpQr"',
    'security_group = "sg-0123456789abcdef0"',
)


# An existing read replica; the same tables, with an application for each.
REPLICA = (
    'role = "reader"',
    "[pipelines.database]",
    'host = "replica.abcdefghij.eu-west-1.rds.amazonaws.com"',
    "port = 5433",
    f'secret = "{SECRETS}replica/reader-AbCdEf"',
    'cidrs = ["10.1.2.3/32", "10.1.3.0/28"]',
    "[pipelines.job]",
    "one_step = false",
    'driver_memory = "1g"',
    'executor_memory = "1g"',
    "executors = 1",
    'read_again = "2026-11-22"',
)
# One synthesis has them all: each takes seconds.
STREAMED = ("orders", "wide", "shop", "crm", "erp", "pagila")
QUERIED = ("pagilaquery", "replica")
USERS = ("alice", "bob2", "carol_d.smith")
ANALYSTS = "arn:aws:quicksight:us-east-1:111111111111:group/default/analysts"
READER = "arn:aws:iam::111111111111:role/analyst"
# Of dev's file; by section.
CHANGES = {
    "processing": (
        "core_instances = 8",
        'primary_instance_type = "m5.4xlarge"',
        'market = "spot"',
        'applications = ["Hadoop", "Hive", "Presto", "Spark"]',
    ),
    "budget": ("monthly_usd = 9000",),
    "vpn": (f"users = {list(USERS)}", "emr_access = true"),
    "analytics": (
        f'quicksight_principal = "{ANALYSTS}"',
        'import_mode = "SPICE"',
        'refresh = "DAILY"',
        "lake_formation = true",
        f'lake_formation_readers = ["{READER}"]',
    ),
}


def many_pipelines(folder: Path) -> Environment:
    """Write and load dev with all that an environment may have: people on the VPN, a dashboard, eight pipelines.

    Through Kafka: orders, `wide` of twelve tables, `shop`, whose two tables have separate steps, `crm` and `erp`, of
    one table each, on outside servers (erp's has a hashed column), and pagila. The first rows of shop and crm are read
    directly. Queried: pagilaquery on dev's own cluster, and `replica` on another server.
    """
    environments, pipelines = copied(folder), copied_pipelines(folder)
    write_pipeline(pipelines, "wide", WIDE)
    write_pipeline(pipelines, "shop", SHOP, source='truncate = "ignore"', table=DIRECT)
    for section, lines in CHANGES.items():
        for line in lines:
            change(environments, "dev", section, line)
    add_to(environments, "wide")
    add_to(environments, "shop", "[pipelines.job]", "one_step = false", "[pipelines.sink]", "tasks = 2")
    for name, lines in (("crm", CRM), ("erp", ERP)):
        write_pipeline(pipelines, name, ["people"], table='hash = ["name"]' if name == "erp" else DIRECT)
        add_to(environments, name, *lines)
    add_to(environments, "pagila")
    _add_queried(environments, pipelines)
    return load("dev", environments, pipelines)


def mixed(folder: Path) -> Environment:
    """Load dev with orders through the outbox, pagilaquery on its own cluster, and `replica`, on another server."""
    environments, pipelines = copied(folder), copied_pipelines(folder)
    for section in ("processing", "budget"):
        for line in CHANGES[section]:
            change(environments, "dev", section, line)
    _add_queried(environments, pipelines)
    return load("dev", environments, pipelines)


def _add_queried(environments: Path, pipelines: Path) -> None:
    source = (pipelines / "pagilaquery.toml").read_text().replace("pagilaquery_", "replica_")
    (pipelines / "replica.toml").write_text(source)
    shutil.copytree(pipelines / "pagilaquery", pipelines / "replica")
    add_to(environments, "pagilaquery")
    add_to(environments, "replica", *REPLICA)


def only_queried(environments: Path) -> None:
    """Replace orders in dev with a query-based pipeline."""
    path = environments / "dev.toml"
    text = path.read_text()
    start = text.index("\n[[pipelines]]\n")
    path.write_text(text[:start] + "\n" + text[text.index("[monitoring]") :])
    add_to(environments, "pagilaquery")


IMAGE = f"111111111111.dkr.ecr.ap-southeast-2.amazonaws.com/cdc-lake-connect@sha256:{'0123456789abcdef' * 4}"
SECTION = ("[connectors.eks]", 'kubernetes_version = "1.36"', f'image = "{IMAGE}"', "maximum_workers = 4", "")


def on_eks(folder: Path, name: str, *more: str) -> Path:
    """Write the environments into a folder, one of them with its connectors on EKS; return the folder."""
    environments = copied(folder)
    path = environments / f"{name}.toml"
    if name == "prod":
        more = ('registries = ["111111111111.dkr.ecr.ap-southeast-2.amazonaws.com"]', *more)
    text = path.read_text().replace("[lake]\n", "\n".join([*SECTION[:-1], *more, "", "[lake]\n"]), 1)
    path.write_text(text)
    change(environments, name, "connectors", 'platform = "eks"')
    # It costs more, and the review reports a budget that is too small.
    change(environments, name, "budget", "monthly_usd = 20_000")
    for role in ("source", "sink"):
        change(environments, name, f"pipelines.{role}", "workers = 2")
    return environments


def environment_on_eks(folder: Path, name: str, *more: str) -> Environment:
    return load(name, on_eks(folder, name, *more))


def group(name: str = "dev-cdc-lake-orders-sink", *, most: int = 0) -> WorkerGroup:
    return WorkerGroup(
        connector=name,
        image=IMAGE,
        workers=2,
        units=1,
        properties=worker_properties(name, plugin_path=PLUGINS, login=IAM_LOGIN),
        variables={BROKERS: "<BrokerAddresses.BootstrapBrokers>", OFFSETS: f"__cdc_lake_offsets_{name}-1"},
        files={"rds-ca.pem": rds_ca.root("ap-southeast-2")},
        destinations=(("10.100.0.0/16", 9098), ("0.0.0.0/0", 443)),
        api="10.100.0.0/16",
        most=most,
    )
