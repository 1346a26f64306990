"""An environment of several pipelines, two of them on outside servers, as a user's account might have."""

from pathlib import Path

from contract import rds_ca
from settings.environment import Environment
from settings.load import load
from tests.settings.pipelines import add_to, copied_pipelines, write_pipeline
from tests.stacks.settings import change, copied

WIDE = tuple(f"table{number:02}" for number in range(12))
SHOP = ("orders", "items")
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


def many_pipelines(folder: Path) -> Environment:
    """Write and load it: orders, `wide` of twelve tables, `shop`, whose two tables have separate steps.

    And `crm` and `erp`, of one table each, on outside servers; erp's has a hashed column.
    """
    environments, pipelines = copied(folder), copied_pipelines(folder)
    write_pipeline(pipelines, "wide", WIDE)
    write_pipeline(pipelines, "shop", SHOP, source='truncate = "ignore"')
    change(environments, "dev", "processing", "core_instances = 4")
    change(environments, "dev", "budget", "monthly_usd = 3000")
    add_to(environments, "wide")
    add_to(environments, "shop", "[pipelines.job]", "one_step = false", "[pipelines.sink]", "tasks = 2")
    for name, lines in (("crm", CRM), ("erp", ERP)):
        write_pipeline(pipelines, name, ["people"], table='hash = ["name"]' if name == "erp" else "")
        add_to(environments, name, *lines)
    return load("dev", environments, pipelines)
