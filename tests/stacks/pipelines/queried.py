"""Environments with query-based pipelines: with the outbox, and alone."""

import shutil
from pathlib import Path

from settings.environment import Environment
from settings.load import load
from tests.settings.pipelines import add_to, copied_pipelines
from tests.stacks.settings import change, copied

SECRETS = "arn:aws:secretsmanager:ap-southeast-2:111111111111:secret:"
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


def only_queried(environments: Path) -> None:
    """Replace orders in dev with a query-based pipeline."""
    path = environments / "dev.toml"
    text = path.read_text()
    start = text.index("\n[[pipelines]]\n")
    path.write_text(text[:start] + "\n" + text[text.index("[monitoring]") :])
    add_to(environments, "pagilaquery")


def mixed(folder: Path) -> Environment:
    """Load dev with orders through the outbox, pagilaquery on its own cluster, and `replica`, on another server."""
    environments, pipelines = copied(folder), copied_pipelines(folder)
    source = (pipelines / "pagilaquery.toml").read_text().replace("pagilaquery_", "replica_")
    (pipelines / "replica.toml").write_text(source)
    shutil.copytree(pipelines / "pagilaquery", pipelines / "replica")
    change(environments, "dev", "processing", "core_instances = 4")
    change(environments, "dev", "processing", 'primary_instance_type = "m5.2xlarge"')
    change(environments, "dev", "budget", "monthly_usd = 3000")
    add_to(environments, "pagilaquery")
    add_to(environments, "replica", *REPLICA)
    return load("dev", environments, pipelines)
