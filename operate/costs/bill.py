"""An environment's monthly cost, line by line, from its settings and the price table."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from operate.costs.prices import HOUR, Price, Prices
from operate.errors import OperateError
from settings.environment import Environment

EC2 = "ec2"
# What Auto Mode's general-purpose pool might choose: two vCPUs and 8 GiB, part of which the node reserves.
NODE, UNITS_OF_A_NODE = "m5.large", 1.5
DAYS_PER_MONTH = 30.4
# stacks/provider.py's.
FUNCTIONS_RETENTION_DAYS = 30


@dataclass(frozen=True, kw_only=True)
class Stopping:
    """A part that is off in a pause: `what` people call it, `type` of the resources that are billed by the hour.

    `to_know`: what happens to it meanwhile.
    """

    what: str
    type: str
    to_know: str


# Aurora's storage stays: only its instances stop, all of a cluster at once.
AURORA = Stopping(what="Aurora's instances", type="AWS::RDS::DBInstance", to_know="AWS starts them again after 7 days.")
CONNECTORS = Stopping(
    what="MSK Connect",
    type="Custom::Connector",
    to_know="their slots keep what they haven't read: a database that runs on meanwhile fills its disk.",
)
# Auto Mode has nodes for its workloads; the cluster itself keeps running.
NODES = Stopping(
    what="EKS's nodes",
    type="Custom::KubernetesConnector",
    to_know="their connectors' slots keep what they haven't read; the cluster without nodes goes on, and is paid for.",
)
EMR = Stopping(what="EMR", type="AWS::EMR::Cluster", to_know="its job goes on from its last commit.")
# In a pause's order, which follows the events: nothing is left where it expires. A resume begins at the other end.
WHAT_STOPS = (CONNECTORS, NODES, EMR, AURORA)


@dataclass(frozen=True, kw_only=True)
class Item:
    """A line of the bill: quantity, item and unit price; `price` None: not in the table.

    `assumed`: the quantity is an assumption of the table, not a setting. `stopping`: the part of a pause that stops it.
    """

    part: str
    what: str
    quantity: float
    price: Price | None
    hours: int
    assumed: bool = False
    stopping: Stopping | None = None

    @property
    def usd(self) -> float | None:
        """USD a month; None for an unknown price."""
        if self.price is None:
            return None
        return self.quantity * self.price.usd * (self.hours if self.price.unit == HOUR else 1)

    @property
    def estimate(self) -> bool:
        """Whether price or quantity is a guess."""
        return self.assumed or (self.price is not None and self.price.estimate)


def items(environment: Environment, prices: Prices) -> list[Item]:
    """Return the bill's lines in stack order. Raises OperateError for a region without prices."""
    if environment.region != prices.region:
        raise OperateError(
            f"operate/costs/prices.toml has the prices of {prices.region}, not those of {environment.region}, where "
            f"{environment.name} is"
        )
    return [line for part, lines in _PARTS.items() for line in lines(environment, _Bill(part, prices))]


def total(lines: list[Item]) -> float:
    """Sum of all known lines, in USD a month."""
    return sum(line.usd or 0 for line in lines)


def confirmed(lines: list[Item]) -> float:
    """Sum of the lines that aren't guesses, in USD a month."""
    return total([line for line in lines if not line.estimate])


def unknown(lines: list[Item]) -> list[Item]:
    """Lines without a price, which the total omits."""
    return [line for line in lines if line.price is None]


def requests_of_rounds(prices: Prices, interval_seconds: float) -> tuple[float, float]:
    """Return the USD a month of the job's requests if each round commits, and if none finds anything: one LIST each."""
    rounds = prices.hours_per_month * 3600 / interval_seconds / 1000
    dear, cheap, commit = prices.of("s3.requests").usd, prices.of("s3.reads").usd, prices.commit_requests
    return rounds * (commit["puts_and_lists"] * dear + commit["reads"] * cheap), rounds * dear


class _Bill:
    """Creates a part's lines from the table's prices; `more` are further fields of the line."""

    def __init__(self, part: str, prices: Prices) -> None:
        self._part = part
        self.prices = prices

    def line(self, what: str, quantity: float, name: str, **more: Any) -> Item:
        return self._item(what, quantity, self.prices.of(name), **more)

    def instances(self, what: str, quantity: float, service: str, type_: str, **more: Any) -> Item:
        """A line of instances, whose type the table may lack."""
        return self._item(f"{what}, {type_}", quantity, self.prices.of_instance(service, type_), **more)

    def share(self, what: str, quantity: float, type_: str, share: str, **more: Any) -> Item:
        """A line at a share of the on-demand price of an instance type: EMR's fee, spot instances."""
        ec2, of_it = self.prices.of_instance(EC2, type_), self.prices.of(share)
        price = ec2 and of_it.model_copy(update={"usd": ec2.usd * of_it.usd, "unit": HOUR})
        return self._item(f"{what}, {type_}", quantity, price, **more)

    def _item(self, what: str, quantity: float, price: Price | None, **more: Any) -> Item:
        hours = self.prices.hours_per_month
        return Item(part=self._part, what=what, quantity=quantity, price=price, hours=hours, **more)


def _network(environment: Environment, bill: _Bill) -> Iterator[Item]:
    settings, prices, ways_out = environment.network, bill.prices, _ways_out(environment)
    if settings.nat == "gateways":
        yield bill.line("NAT gateways", ways_out, "nat.gateway")
        yield bill.line("through NAT, GB", prices.usage["nat_data_gb"], "nat.data", assumed=True)
    else:
        yield bill.instances("NAT instances", ways_out, EC2, settings.nat_instance_type)
        yield bill.line("NAT instances' volumes, GB", ways_out * prices.counts["nat_volume_gb"], "ebs.gp3")
    yield bill.line("NAT's public addresses", ways_out, "vpc.public-ipv4")
    if endpoints := len(settings.interface_endpoints):
        zones = len(environment.availability_zones)
        yield bill.line("interface endpoints x zones", endpoints * zones, "vpc.endpoint")


def _ways_out(environment: Environment) -> int:
    return 1 if environment.network.nat == "instance" else len(environment.availability_zones)


def _vpn(environment: Environment, bill: _Bill) -> Iterator[Item]:
    yield bill.instances("bastion", 1, EC2, environment.vpn.instance_type)
    yield bill.line("its volume, GB", bill.prices.counts["vpn_volume_gb"], "ebs.gp3")
    yield bill.line("its Elastic IP", 1, "vpc.public-ipv4")


def _database(environment: Environment, bill: _Bill) -> Iterator[Item]:
    settings, usage = environment.database, bill.prices.usage
    type_ = settings.instance_class
    yield bill.instances("Aurora instances", settings.instances, "aurora", type_, stopping=AURORA)
    yield bill.line("storage, GB", usage["aurora_storage_gb"], "aurora.storage", assumed=True)
    yield bill.line("I/O, millions", usage["aurora_requests_millions"], "aurora.requests", assumed=True)


def _streaming(environment: Environment, bill: _Bill) -> Iterator[Item]:
    settings = environment.streaming
    broker = bill.instances("MSK brokers", settings.brokers, "msk", settings.broker_type.removeprefix("kafka."))
    yield replace(broker, what=f"MSK brokers, {settings.broker_type}")
    yield bill.line("their volumes, GB", settings.brokers * settings.volume_gb, "msk.storage")


def _connectors(environment: Environment, bill: _Bill) -> Iterator[Item]:
    if environment.eks is not None:
        yield from _kubernetes(environment, bill)
        return
    for pipeline in environment.streamed:
        of_which = "" if pipeline.is_first else f" of {pipeline.name}"
        for name, settings in (("source", pipeline.source), ("sink", pipeline.sink)):
            units = settings.workers * settings.mcu_per_worker
            yield bill.line(f"MSK Connect units, {name}{of_which}", units, "connect.mcu", stopping=CONNECTORS)


def eks_nodes(environment: Environment) -> int:
    """Count the nodes as Auto Mode might choose them: for the workers' units, and one for the add-ons."""
    pairs = [pair for pipeline in environment.streamed for pair in (pipeline.source, pipeline.sink)]
    return 1 + math.ceil(sum(each.workers * each.mcu_per_worker for each in pairs) / UNITS_OF_A_NODE)


def _kubernetes(environment: Environment, bill: _Bill) -> Iterator[Item]:
    """The cluster, and its nodes."""
    counts, of_nodes = bill.prices.counts, {"assumed": True, "stopping": NODES}
    pairs = [pair for pipeline in environment.streamed for pair in (pipeline.source, pipeline.sink)]
    nodes = eks_nodes(environment)
    yield bill.line("EKS cluster", 1, "eks.cluster")
    yield bill.instances("nodes of Auto Mode, such as", nodes, EC2, NODE, **of_nodes)
    yield bill.share("Auto Mode's fee", nodes, NODE, "eks.auto-mode", **of_nodes)
    yield bill.line("their volumes, GB", nodes * counts["eks_volume_gb"], "ebs.gp3", **of_nodes)
    yield bill.line("connectors' metrics", counts["connector_metrics"] * len(pairs), "cloudwatch.metric")


def _processing(environment: Environment, bill: _Bill) -> Iterator[Item]:
    """EMR: a cluster can't be stopped, only terminated along with its disks."""
    settings, nodes = environment.processing, 1 + environment.processing.core_instances
    for role, count, type_ in (
        ("primary", 1, settings.primary_instance_type),
        ("core", settings.core_instances, settings.core_instance_type),
    ):
        if count and settings.market == "spot":
            yield bill.share(f"EMR {role} on spot", count, type_, "ec2.spot", stopping=EMR)
        elif count:
            yield bill.instances(f"EMR {role}", count, EC2, type_, stopping=EMR)
        if count:
            yield bill.share("EMR's fee", count, type_, "emr.fee", stopping=EMR)
    yield bill.line("their volumes, GB", nodes * bill.prices.counts["emr_volume_gb"], "ebs.gp3", stopping=EMR)


def _lake(_environment: Environment, bill: _Bill) -> Iterator[Item]:
    usage = bill.prices.usage
    yield bill.line("S3 storage, GB", usage["lake_storage_gb"], "s3.storage", assumed=True)
    yield bill.line("S3 requests, thousands", usage["s3_requests_thousands"], "s3.requests", assumed=True)


def _analytics(_environment: Environment, bill: _Bill) -> Iterator[Item]:
    """Athena's queries. QuickSight's users pay for it, and the account has them anyway."""
    scanned = bill.prices.usage["athena_scanned_tb"]
    yield bill.line("scanned by Athena, TB", scanned, "athena.scanned", assumed=True)


def _logs(environment: Environment, bill: _Bill) -> Iterator[Item]:
    """Ingestion per log group, by its number of writers, and the stored share of it."""
    each, workers, streaming = bill.prices.logs, environment.connector_workers, environment.streaming
    database, connectors = environment.database, environment.connectors
    groups = (
        ("flow log", each["address"] * _addresses(environment), environment.network.flow_log_retention_days),
        ("Aurora's log", each["database"] * database.instances, database.log_retention_days),
        ("brokers' log", each["broker"] * streaming.brokers, streaming.log_retention_days),
        ("workers' log", each["worker"] * workers, connectors.log_retention_days),
        ("functions' logs", each["functions"], FUNCTIONS_RETENTION_DAYS),
    )
    for what, gb, _ in groups:
        yield bill.line(f"{what}, GB", gb, "logs.data", assumed=True)
    kept = round(sum(gb * days / DAYS_PER_MONTH for _, gb, days in groups), 1)
    yield bill.line("kept, GB", kept, "logs.storage", assumed=True)


def _addresses(environment: Environment) -> int:
    """Count the VPC's network interfaces, whose connections the flow log records."""
    bastion, emr = 1, 1 + environment.processing.core_instances
    endpoints = len(environment.availability_zones) * len(environment.network.interface_endpoints)
    data = environment.database.instances + environment.streaming.brokers + environment.connector_workers
    return _ways_out(environment) + endpoints + bastion + data + emr


def _monitoring(environment: Environment, bill: _Bill) -> Iterator[Item]:
    counts, pipelines = bill.prices.counts, len(environment.streamed)
    tables = sum(len(pipeline.captured.lake_tables) for pipeline in environment.pipelines)
    topics = sum(len(pipeline.captured.tables) for pipeline in environment.streamed)
    metrics = bill.prices.usage["metrics"] * tables
    yield bill.line("S3's request metrics", counts["request_metrics"] * pipelines, "cloudwatch.metric")
    yield bill.line("the job's metrics", metrics, "cloudwatch.metric", assumed=True)
    # An alarm shared by several tables or topics is billed for each of their metrics.
    alarms = counts["alarms"] + pipelines * counts["alarms_pipeline"] + topics + tables * counts["alarms_table"]
    # For query-based pipelines: the database's oldest transaction.
    yield bill.line("alarms", alarms + len(environment.queried), "cloudwatch.alarm")
    yield bill.line("dashboards", counts["dashboards"], "cloudwatch.dashboard")


def _shared(environment: Environment, bill: _Bill) -> Iterator[Item]:
    counts = bill.prices.counts
    # One more for each role of our own cluster, each salt of hashed columns, and each VPN user.
    own = sum((pipeline.database is None) + pipeline.hashes for pipeline in environment.pipelines)
    yield bill.line("secrets", counts["secrets"] + own + len(environment.vpn.users), "secrets.secret")
    if keys := counts["keys"] + (environment.eks is not None):
        yield bill.line("KMS keys", keys, "kms.key")


_PARTS: dict[str, Callable[[Environment, _Bill], Iterator[Item]]] = {
    "network": _network,
    "vpn": _vpn,
    "database": _database,
    "streaming": _streaming,
    "connectors": _connectors,
    "processing": _processing,
    "lake": _lake,
    "analytics": _analytics,
    "logs": _logs,
    "monitoring": _monitoring,
    "all": _shared,
}
