"""Environment files: what is refused, and that the reason is one line that names the file and the key."""

import re
import shutil
from pathlib import Path

import pytest

from settings.load import ENVIRONMENTS, EnvironmentFileError, load
from tests.stacks.settings import change, copied

TEXTS_KCQL = (
    "INSERT INTO {landing}:cdc-events SELECT * FROM msk.datalake.cdc_events PARTITIONBY customer_id,order_id "
    "STOREAS `json` WITH_FLUSH_INTERVAL = 60 WITH_FLUSH_COUNT = 50"
)
TODAYS_KCQL = TEXTS_KCQL.partition(" WITH_FLUSH")[0] + " PROPERTIES('flush.interval'=60,'flush.count'=50)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of environments that a test may change."""
    return copied(tmp_path)


@pytest.mark.parametrize("name", sorted(path.stem for path in ENVIRONMENTS.glob("*.toml")))
def test_every_environment_of_the_project_is_accepted(name: str) -> None:
    environment = load(name)
    assert environment.name == name
    assert environment.prefix == f"{name}-cdc-lake"


def test_dev_is_thrown_away_and_prod_is_kept() -> None:
    dev, prod = load("dev"), load("prod")
    assert (dev.production, dev.removal_policy, dev.database.instances) == (False, "destroy", 1)
    assert (prod.production, prod.removal_policy, prod.database.instances) == (True, "retain", 2)


def test_adding_an_environment_is_adding_a_file(folder: Path) -> None:
    shutil.copy(folder / "dev.toml", folder / "staging.toml")
    assert load("staging", folder).bucket_name("lake").startswith("staging-cdc-lake-lake-")


REFUSED = [
    ("dev", "", "colour = 1", "colour: unknown key"),
    ("dev", "network", "nats = 1", "network.nats: unknown key"),
    ("dev", "pipelines.sink", "flush = 1", "pipelines[0].sink.flush: unknown key"),
    ("dev", "database", 'instances = "1"', "database.instances: Input should be a valid integer"),
    ("dev", "", "account = 111111111111", "account: Input should be a valid string"),
    ("dev", "", 'account = "1234"', "account: String should match pattern"),
    ("dev", "", 'account = "11111111111\uff11"', "account: String should match pattern"),
    ("dev", "", 'region = "eu-west-\uff11"', "region: String should match pattern"),
    ("dev", "processing", 'driver_memory = "1\uff12g"', "processing.driver_memory: String should match pattern"),
    ("dev", "network", 'nat = "none"', "network.nat: Input should be 'instances', 'gateways' or 'instance'"),
    ("dev", "network", 'cidr = "10.0.0.1/16"', "network.cidr: 10.0.0.1/16 has host bits set"),
    ("dev", "network", 'cidr = "8.8.0.0/16"', "network.cidr: 8.8.0.0/16 isn't private"),
    ("dev", "network", 'cidr = "10.0.0.0/24"', "network.cidr: 10.0.0.0/24 must be from /16"),
    ("dev", "network", 'cidr = "192.168.16.0/20"', "network.cidr: 192.168.16.0/20 overlaps 192.168.30.0/24"),
    ("dev", "network", "flow_log_retention_days = 8", "network.flow_log_retention_days: Input should be 1, 3, 5"),
    (
        "dev",
        "",
        'availability_zones = ["ap-southeast-2a"]',
        "availability_zones: MSK spreads its brokers over 2 or 3 zones",
    ),
    (
        "dev",
        "",
        'availability_zones = ["us-east-1a", "us-east-1b"]',
        "availability_zones: 'us-east-1a' isn't a zone of",
    ),
    (
        "dev",
        "vpn",
        'management_cidrs = ["0.0.0.0/0"]',
        "vpn.management_cidrs: opens VPN management to 0.0.0.0/0 (100.000% of all IPv4 addresses",
    ),
    (
        "dev",
        "vpn",
        'management_cidrs = ["64.0.0.0/9", "64.128.0.0/9"]',
        "vpn.management_cidrs: opens VPN management to 64.0.0.0/9, 64.128.0.0/9 (0.391% of all",
    ),
    ("dev", "vpn", "client_cidrs = []", "vpn.client_cidrs: is empty"),
    ("dev", "vpn", 'users = ["Alice"]', "vpn.users[0]: String should match pattern"),
    ("dev", "vpn", 'users = ["a;b"]', "vpn.users[0]: String should match pattern"),
    ("dev", "vpn", 'users = ["alice", "bob", "alice"]', "vpn.users: 'alice' is named twice"),
    (
        "prod",
        "vpn",
        'client_cidrs = ["0.0.0.0/1", "128.0.0.0/1"]',
        "vpn.client_cidrs: lets 0.0.0.0/1, 128.0.0.0/1 (100.000% of all",
    ),
    (
        "prod",
        "vpn",
        'client_cidrs = ["20.0.0.0/16", "20.1.0.0/32"]',
        "vpn.client_cidrs: lets 20.0.0.0/16, 20.1.0.0/32 (0.002% of all",
    ),
    ("prod", "vpn", "password_rotation_days = 0", "vpn.password_rotation_days: production's passwords last"),
    ("prod", "vpn", "password_rotation_days = 91", "vpn.password_rotation_days: production's passwords last"),
    ("prod", "streaming", 'broker_type = "kafka.t3.small"', "streaming.broker_type: kafka.t3.small takes 4 new"),
    ("dev", "streaming", 'broker_type = "kafka.m1.huge"', "streaming.broker_type: kafka.m1.huge isn't a broker type"),
    ("dev", "streaming", 'kafka_version = "2.8.1"', "streaming.kafka_version: 2.8.1 isn't an MSK version"),
    ("dev", "streaming", "brokers = 3", "streaming.brokers: 3 brokers don't spread evenly over 2 zones"),
    ("dev", "connectors", 'kafka_connect_version = "2.7.1"', "connectors.kafka_connect_version: 2.7.1 isn't"),
    (
        "dev",
        "pipelines.source",
        'configuration = { "database.password" = "hunter2" }',
        "pipelines[0].source.configuration.database.password: where the database is",
    ),
    (
        "dev",
        "pipelines.source",
        'configuration = { "slot.name" = "mine" }',
        "pipelines[0].source.configuration.slot.name: changes are read on from the slot",
    ),
    (
        "dev",
        "streaming",
        "largest_event_mib = 15",
        "streaming.largest_event_mib: Input should be greater than or equal",
    ),
    ("dev", "streaming", "largest_event_mib = 20", "streaming.largest_event_mib: Input should be less than or equal"),
    ("dev", "streaming", "topic_retention_hours = -1", "streaming.topic_retention_hours: Input should be greater than"),
    ("dev", "streaming", "topic_retention_hours = 0", "streaming.topic_retention_hours: Input should be greater than"),
    (
        "dev",
        "pipelines.source",
        'configuration = { "topic.creation.default.retention.ms" = "60000" }',
        "pipelines[0].source.configuration.topic.creation.default.retention.ms: topics are made by the deployment",
    ),
    (
        "dev",
        "pipelines.sink",
        'dead_letter_topic = "msk.datalake.cdc_events"',
        "pipelines[0].sink.dead_letter_topic: msk.datalake.cdc_events can't be two topics at once: choose another name",
    ),
    *(
        (
            "dev",
            f"pipelines.{connector}",
            f'configuration = {{ "{key}" = "1048576" }}',
            f"pipelines[0].{connector}.configuration.{key}: follows from streaming.largest_event_mib",
        )
        for connector, key in (
            ("source", "producer.override.max.request.size"),
            ("source", "topic.creation.default.max.message.bytes"),
            ("sink", "consumer.override.max.partition.fetch.bytes"),
        )
    ),
    ("dev", "pipelines.sink", f'kcql = "{TEXTS_KCQL}"', "pipelines[0].sink.kcql: doesn't fit the pinned S3 sink"),
    (
        "dev",
        "pipelines.sink",
        f'kcql = "{TODAYS_KCQL.replace("msk.", "demo.")}"',
        "pipelines[0].sink.kcql: reads demo.datalake.cdc_events, but the source connector writes msk.datalake.cdc_",
    ),
    (
        "dev",
        "pipelines.sink",
        f'kcql = "{TODAYS_KCQL.replace("{landing}", "elsewhere")}"',
        "pipelines[0].sink.kcql: writes to elsewhere",
    ),
    *(
        (
            "dev",
            "pipelines.sink",
            f'configuration = {{ "{key}" = "{value}" }}',
            f"pipelines[0].sink.configuration.{key}: {reason}",
        )
        for key, value, reason in (
            ("connect.s3.error.policy", "NOOP", "must be RETRY or THROW, not 'NOOP': NOOP loses what can't"),
            ("conect.s3.error.policy", "RETRY", "isn't a property that may be added here"),
            ("errors.tolerance", "all", "follows from dead_letter_topic"),
            ("connect.s3.skip.null.values", "false", "what is landed, where and with whose rights"),
        )
    ),
    (
        "dev",
        "pipelines.sink",
        f"""kcql = "{TODAYS_KCQL.replace("flush.count", "flush.cuont")}\"""",
        "pipelines[0].sink.kcql: doesn't fit the pinned S3 sink 11.7.2: KCQL: PROPERTIES: 'flush.cuont' isn't one of",
    ),
    (
        "dev",
        "pipelines.sink",
        f"""kcql = "{TODAYS_KCQL.replace("=50", "='50'")}\"""",
        "pipelines[0].sink.kcql: doesn't fit the pinned S3 sink 11.7.2: KCQL: PROPERTIES: flush.count='50': the task",
    ),
    (
        "dev",
        "pipelines.sink",
        f"""kcql = "{TODAYS_KCQL.partition(" PROPERTIES")[0]}\"""",
        "pipelines[0].sink.kcql: doesn't fit the pinned S3 sink 11.7.2: KCQL: flush.interval is missing",
    ),
    (
        "dev",
        "pipelines.source",
        'configuration = { "decimal.handling.mode" = "double" }',
        "pipelines[0].source.configuration.decimal.handling.mode: the job reads names and values",
    ),
    (
        "prod",
        "pipelines.sink",
        'partition_by = ["customer_id"]',
        "pipelines[0].sink.partition_by: production takes no PARTITIONBY: killed during a flush",
    ),
    ("prod", "pipelines.sink", f'kcql = "{TODAYS_KCQL}"', "pipelines[0].sink.kcql: production takes no PARTITIONBY"),
    ("dev", "pipelines.sink", 'dead_letter_topic = "a b"', "pipelines[0].sink: dead_letter_topic isn't valid"),
    ("dev", "pipelines.sink", "flush_count = 0", "pipelines[0].sink: flush_count must be from 1"),
    ("dev", "processing", 'release = "emr-6.4.0"', "processing.release: emr-6.4.0 isn't a release"),
    ("dev", "processing", 'core_instance_type = "m5.large"', "processing.core_instance_type: EMR has no m5.large in"),
    (
        "dev",
        "processing",
        'applications = ["Hadoop", "Hive", "Spark", "Presto", "Trino"]',
        "processing.applications: EMR installs Presto or Trino, not both",
    ),
    ("dev", "processing", 'applications = ["Spark"]', "processing.applications: Hadoop, Hive and Spark are needed"),
    ("dev", "processing", "maximum_core_instances = 1", "processing.maximum_core_instances: must be 0"),
    ("dev", "database", 'engine_version = "13.4"', "database.engine_version: 13.4 isn't an Aurora PostgreSQL 16"),
    ("dev", "database", 'instance_class = "t2.micro"', "database.instance_class: t2.micro isn't one of"),
    ("dev", "database", "deletion_protection = true", "database.deletion_protection: would make `cdk destroy` fail"),
    ("dev", "monitoring", 'alarm_email = "nobody"', "monitoring.alarm_email: String should match pattern"),
    ("prod", "", 'removal_policy = "destroy"', "removal_policy: production data must survive"),
    ("prod", "", "production = false", "production: must be true in an environment that is named prod"),
    ("prod", "database", "deletion_protection = false", "database.deletion_protection: must be true in production"),
    ("prod", "database", "sample_data = true", "database.sample_data: production gets no sample data"),
    ("prod", "database", "instances = 1", "database.instances: production needs a reader"),
]


@pytest.mark.parametrize(
    ("name", "section", "line", "reason"), REFUSED, ids=[case[3].split(" ")[0] for case in REFUSED]
)
def test_a_wrong_setting_is_refused_naming_file_and_key(
    folder: Path, name: str, section: str, line: str, reason: str
) -> None:
    change(folder, name, section, line)
    with pytest.raises(EnvironmentFileError, match=re.escape(f"environments/{name}.toml: {reason}")):
        load(name, folder)


def test_several_problems_are_one_line_each(folder: Path) -> None:
    change(folder, "dev", "streaming", 'broker_type = "kafka.t3.medium"')
    change(folder, "dev", "processing", 'release = "emr-6.4.0"')
    with pytest.raises(EnvironmentFileError) as caught:
        load("dev", folder)
    lines = str(caught.value).splitlines()
    assert [line.split(": ")[1] for line in lines] == ["streaming.broker_type", "processing.release"]


def test_a_secret_isnt_repeated_in_the_message(folder: Path) -> None:
    change(folder, "dev", "pipelines.source", 'configuration = { "ssl.truststore.password" = "hunter2" }')
    with pytest.raises(EnvironmentFileError) as caught:
        load("dev", folder)
    assert "hunter2" not in str(caught.value)


def test_a_folder_per_order_is_an_option_in_todays_words(folder: Path) -> None:
    change(folder, "dev", "pipelines.sink", f'kcql = "{TODAYS_KCQL}"')
    assert load("dev", folder).pipelines[0].sink.kcql == TODAYS_KCQL


@pytest.mark.parametrize(
    ("content", "reason"),
    [("account = ", "not TOML"), ('name = "x"', "name: the environment's name is that of its file")],
)
def test_a_file_that_cant_be_read_is_one_line(folder: Path, content: str, reason: str) -> None:
    (folder / "broken.toml").write_text(content)
    with pytest.raises(EnvironmentFileError, match=reason) as caught:
        load("broken", folder)
    assert "\n" not in str(caught.value)


def test_a_missing_section_is_named(folder: Path) -> None:
    path = folder / "dev.toml"
    path.write_text(path.read_text().partition("[monitoring]")[0])
    with pytest.raises(EnvironmentFileError, match=r"dev\.toml: monitoring: is missing"):
        load("dev", folder)


@pytest.mark.parametrize("name", ["staging", "../dev", ""])
def test_an_environment_without_a_file_says_which_there_are(name: str) -> None:
    with pytest.raises(EnvironmentFileError, match="no such environment; there are dev, prod, sandbox"):
        load(name)


def test_the_guides_example_of_a_refusal_is_what_is_said(folder: Path) -> None:
    change(folder, "dev", "streaming", 'broker_type = "kafka.t3.small"')
    change(folder, "dev", "pipelines.source", "workers = 2")
    with pytest.raises(EnvironmentFileError) as caught:
        load("dev", folder)
    assert f"synth: {caught.value}" in (ENVIRONMENTS.parent / "docs" / "aws" / "deploy.md").read_text().splitlines()
