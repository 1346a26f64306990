"""What the rules refuse: what AWS or the pipeline would find wrong later, and in production what loses data."""

import copy
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from settings.environment import Environment
from settings.load import ENVIRONMENTS, EnvironmentFileError, load
from settings.rules import broken
from tests.stacks.settings import change, copied, refusal


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return copied(tmp_path)


LINES = [
    ("dev", "", "availability_zones = []", "availability_zones: MSK spreads its brokers over 2 or 3 zones"),
    ("dev", "", 'availability_zones = ["ap-southeast-2a", "ap-southeast-2a"]', "availability_zones: MSK spreads"),
    (
        "dev",
        "",
        'availability_zones = ["ap-southeast-2a", "ap-southeast-2b", "ap-southeast-2c", "ap-southeast-2d"]',
        "availability_zones: MSK spreads its brokers over 2 or 3 zones",
    ),
    (
        "dev",
        "",
        'availability_zones = ["ap-southeast-2a", "ap-southeast-2z"]',
        "availability_zones: ap-southeast-2 has no ap-southeast-2z, only ap-southeast-2a, ap-southeast-2b, ap-",
    ),
    ("dev", "network", 'interface_endpoints = ["secretmanager"]', "network.interface_endpoints: 'secretmanager' isn't"),
    ("dev", "network", 'interface_endpoints = ["logs", "logs"]', "network.interface_endpoints: 'logs' is given twice"),
    ("dev", "network", 'nat_instance_type = "x"', "network.nat_instance_type: 'x' isn't one of t3.nano"),
    ("dev", "vpn", 'instance_type = "t4g.nano"', "vpn.instance_type: 't4g.nano' isn't one of t3.nano"),
    (
        "dev",
        "vpn",
        'management_cidrs = ["0.0.0.0/1", "128.0.0.0/1"]',
        "vpn.management_cidrs: opens VPN management to 0.0.0.0/1, 128.0.0.0/1",
    ),
    (
        "dev",
        "processing",
        'driver_memory = "900g"',
        "processing.driver_memory: 900g and its overhead don't fit on a m5.xl",
    ),
    ("dev", "processing", 'executor_memory = "12g"', "processing.executor_memory: 12g and its overhead don't fit"),
    ("dev", "processing", 'driver_memory = "1m"', "processing.driver_memory: 1m is too little for Spark"),
    (
        "dev",
        "processing",
        "executors = 6",
        "processing.core_instances: the executors of 1 applications ask for 27,072 MB",
    ),
    # Both executors would fit on both nodes, but for the master that one of them has.
    (
        "dev",
        "processing",
        'executor_memory = "10800m"',
        "processing.core_instances: the executors of 1 applications ask for 23,808 MB, and 2 m5.xlarge have 12,288 "
        "each, which applications' masters of 896 share",
    ),
    # 22,560 of 24,576 MB, and each node has room for two.
    ("dev", "processing", "executors = 5", "processing.core_instances: the executors of 1 applications ask for 22,560"),
    ("dev", "pipelines", 'name = "shop"', "pipelines[0].name: there is no pipelines/shop.toml; there are "),
    ("dev", "pipelines", 'captured = "x"', "pipelines[0].captured: unknown key"),
    (
        "dev",
        "pipelines.job",
        'driver_memory = "3g"',
        "pipelines[0].job.driver_memory: counts for an application of its",
    ),
    (
        "dev",
        "pipelines",
        "tables = { orders = {} }",
        "pipelines[0].tables.orders: isn't a table of pipelines/orders.toml",
    ),
    (
        "dev",
        "lake",
        "landing_expiry_days = 6",
        "lake.landing_expiry_days: objects would expire before their events do in Kafka",
    ),
    (
        "prod",
        "",
        'availability_zones = ["ap-southeast-2a", "ap-southeast-2b"]',
        "availability_zones: a topic has as many replicas",
    ),
    ("prod", "network", 'nat = "instances"', "network.nat: an instance that fails takes its zone's"),
    ("prod", "network", 'nat = "instance"', "network.nat: an instance that fails takes its zone's"),
    ("prod", "processing", 'market = "spot"', "processing.market: AWS may take spot nodes back at any time"),
    ("prod", "processing", "core_instances = 0", "processing.core_instances: the primary node alone keeps"),
    ("sandbox", "pipelines.sink", "workers = 2", "streaming.broker_type: kafka.t3.small takes 4 new connections"),
    ("sandbox", "processing", "executors = 5", "processing.core_instances: without core nodes drivers and executors"),
    (
        "sandbox",
        "processing",
        'driver_memory = "13g"',
        "processing.driver_memory: 13g and its overhead don't fit on a m5.xlarge, which has 12288 MB for containers: "
        "set less, or a larger processing.primary_instance_type",
    ),
    (
        "sandbox",
        "processing",
        "maximum_core_instances = 2",
        "processing.maximum_core_instances: must be 0 with core_instances = 0",
    ),
    ("prod", "network", "flow_log_retention_days = 1", "network.flow_log_retention_days: who asks what has happened"),
    ("prod", "database", "backup_retention_days = 1", "database.backup_retention_days: a fault that is found after"),
    ("prod", "database", "secret_rotation_days = 0", "database.secret_rotation_days: the master's password would"),
    ("prod", "database", "secret_rotation_days = 365", "database.secret_rotation_days: the master's password would"),
    ("prod", "streaming", "brokers = 2", "streaming.brokers: three replicas are on three brokers"),
    ("prod", "streaming", "topic_retention_hours = 1", "streaming.topic_retention_hours: what the sink hasn't read"),
    ("prod", "lake", "landing_expiry_days = 1", "lake.landing_expiry_days: what a job hasn't read when it expires"),
    ("prod", "lake", "noncurrent_version_expiry_days = 1", "lake.noncurrent_version_expiry_days: what is deleted by"),
    ("prod", "lake", "log_expiry_days = 1", "lake.log_expiry_days: who asks what has happened"),
]


@pytest.mark.parametrize(("name", "section", "line", "reason"), LINES, ids=[f"{case[0]} {case[2]}" for case in LINES])
def test_a_setting_that_would_fail_or_lose_data_is_refused(
    folder: Path, name: str, section: str, line: str, reason: str
) -> None:
    change(folder, name, section, line)
    assert f"environments/{name}.toml: {reason}" in refusal(folder, name)


@pytest.mark.parametrize(
    ("connector", "key", "value"),
    [
        ("source", "snapshot.mode", "no_data"),
        ("source", "heartbeat.interval.ms", "0"),
        ("source", "producer.override.acks", "1"),
        ("source", "transforms.unwrap.drop.tombstones", "x"),
        ("source", "", ""),
        ("sink", "connect.s3.exactly.once.enable", "false"),
        ("sink", "connect.s3.custom.endpoint", "https://elsewhere"),
        ("sink", "connect.s3.retry.interval", "soon"),
        ("sink", "consumer.override.auto.offset.reset", "latest"),
        ("sink", "errors.deadletterqueue.topic.name", "elsewhere"),
    ],
)
def test_a_property_that_isnt_allowed_is_refused_in_every_environment(
    folder: Path, connector: str, key: str, value: str
) -> None:
    for name in ("dev", "prod"):
        change(folder, name, f"pipelines.{connector}", f'configuration = {{ "{key}" = "{value}" }}')
        assert f"environments/{name}.toml: pipelines[0].{connector}.configuration.{key}: " in refusal(folder, name)


@pytest.mark.parametrize(
    ("connector", "key", "value"),
    [
        ("source", "snapshot.mode", "initial"),
        ("source", "slot.drop.on.stop", "false"),
        ("source", "producer.override.acks", "all"),
        ("source", "heartbeat.interval.ms", "1500"),
        ("source", "max.batch.size", "4096"),
        ("sink", "connect.s3.retry.interval", "30000"),
    ],
)
def test_an_allowed_property_is_accepted_in_production(folder: Path, connector: str, key: str, value: str) -> None:
    change(folder, "prod", f"pipelines.{connector}", f'configuration = {{ "{key}" = "{value}" }}')
    assert getattr(load("prod", folder).pipelines[0], connector).configuration == {key: value}


def test_two_environments_of_an_account_have_databases_of_their_own(folder: Path) -> None:
    (folder / "staging.toml").write_text((folder / "dev.toml").read_text())
    assert (load("dev", folder).lake.database, load("staging", folder).lake.database) == (
        "dev_datalake",
        "staging_datalake",
    )
    change(folder, "staging", "lake", 'database = "dev_datalake"')
    assert "staging.toml: lake.database: 'dev_datalake' is that of dev.toml, too" in refusal(folder, "staging")
    (folder / "staging.toml").write_text((folder / "staging.toml").read_text().replace("1" * 12, "3" * 12))
    assert load("staging", folder).lake.database == "dev_datalake"


def test_a_folder_of_an_environments_name_is_one_line(folder: Path) -> None:
    (folder / "lab.toml").mkdir()
    assert refusal(folder, "lab") == (
        "environments/lab.toml: no such environment (it is a folder: an environment is a file); "
        "there are dev, prod, sandbox"
    )
    assert load("dev", folder).name == "dev"


WRONG: tuple[Any, ...] = (
    "",
    "x",
    "\0",
    "a\nb",
    "é" * 300,
    -1,
    0,
    10**9,
    10**30,
    1.5,
    True,
    False,
    [],
    ["x"],
    [1],
    {},
    {"x": 1},
    {"x": "\n"},
)


def keys(values: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every key of a file, and every element of its lists, by the way that leads to it."""
    inner = values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    for key, value in inner:
        yield (*path, key)
        yield from keys(value, (*path, key))


PRODUCTION: dict[str, Any] = tomllib.loads((ENVIRONMENTS / "prod.toml").read_text())


def checked(values: dict[str, Any], folder: Path) -> str:
    """What is said of a file with these values, "" when it is accepted."""
    (folder / "fuzz.toml").write_text(toml(values))
    try:
        load("fuzz", folder)
    except EnvironmentFileError as error:
        return str(error)
    return ""


def toml(values: dict[str, Any]) -> str:
    """Write TOML on one level: inline tables and JSON's texts, which TOML reads the same."""

    def inline(value: Any) -> str:
        match value:
            case dict():
                return "{" + ", ".join(f"{json.dumps(key)} = {inline(each)}" for key, each in value.items()) + "}"
            case list():
                return "[" + ", ".join(map(inline, value)) + "]"
            case _:
                return json.dumps(value)

    return "".join(f"{json.dumps(key)} = {inline(value)}\n" for key, value in values.items())


@pytest.mark.parametrize("way", list(keys(PRODUCTION)), ids=lambda way: ".".join(map(str, way)))
def test_whatever_a_key_says_is_answered_by_lines_that_name_file_and_key(
    way: tuple[str | int, ...], tmp_path: Path
) -> None:
    for value in WRONG:
        values = copy.deepcopy(PRODUCTION)
        place: Any = values
        for key in way[:-1]:
            place = place[key]
        place[way[-1]] = value
        for line in checked(values, tmp_path).splitlines():
            file, key, reason = line.split(": ", 2)
            assert file == f"{tmp_path.name}/fuzz.toml", (value, line)
            assert reason.isprintable(), (value, line)
            assert key, (value, line)


# Texts that are the reader's own: any is accepted that has the right form.
FREE = {
    "database.name",
    "pipelines.0.topic_prefix",
}


def test_a_text_that_means_nothing_is_refused_wherever_a_text_stands(tmp_path: Path) -> None:
    accepted = set()
    for way in keys(PRODUCTION):
        values = copy.deepcopy(PRODUCTION)
        place: Any = values
        for key in way[:-1]:
            place = place[key]
        if isinstance(place[way[-1]], str):
            place[way[-1]] = "nonsense"
            if not checked(values, tmp_path):
                accepted.add(".".join(map(str, way)))
    assert accepted == FREE


def test_production_as_it_is_breaks_no_rule() -> None:
    environment: Environment = load("prod")
    assert broken(environment) == []
