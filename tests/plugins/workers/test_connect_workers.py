"""Our workers' configuration, the rights that it takes, and our classes, compiled as their sources say."""

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contract.secret_names import is_secret
from local.services.postgres import ConnectionParameters
from local.tools.worker_classes import compile_classes
from plugins.connector_names import offset_topic, workers_group, workers_topics
from plugins.kafka.topics import own_worker_access, sink_access, worker_access
from plugins.source.captured import CapturedTable
from plugins.source.source_connector import SALT_PROPERTY, source_connector
from plugins.workers import connect_workers
from plugins.workers.connect_workers import (
    ADDRESS,
    ALL,
    BROKERS,
    EVERY_VALUE,
    HASHED_COLUMNS,
    IAM_LOGIN,
    OFFSETS,
    SECRETS_PROVIDER,
    resources,
    worker_properties,
)
from tests.broker import RunningBroker
from tests.events.recorders.types import TABLES, TARGET, record
from tests.plugins.conftest import SINK, SOURCE

NAME = "dev-cdc-lake-orders-sink"
PROPERTIES = worker_properties(NAME, plugin_path="/p", login=IAM_LOGIN)


def test_the_role_has_the_names_that_the_workers_use_and_no_patterns() -> None:
    grants = own_worker_access(NAME, offset_topic(NAME))
    named = {name for grant in grants for name in grant.names}
    assert named == {*workers_topics(NAME), offset_topic(NAME), workers_group(NAME)}
    assert {PROPERTIES["config.storage.topic"], PROPERTIES["status.storage.topic"]} == {*workers_topics(NAME)}
    assert PROPERTIES["group.id"] == workers_group(NAME)
    assert not [name for name in named if "*" in name]


def test_an_own_worker_takes_the_place_of_msk_connects() -> None:
    settings = replace(SINK, name=NAME)
    own = own_worker_access(settings.name, offset_topic(settings.name))
    theirs = worker_access(settings.name)
    rest = sink_access(settings)[len(theirs) :]
    assert sink_access(settings, worker=own) == (*own, *rest)


def test_what_a_pod_knows_alone_comes_from_its_environment() -> None:
    named = {value for value in PROPERTIES.values() if value.startswith("${env:")}
    assert named == {f"${{env:{name}}}" for name in (ADDRESS, BROKERS, OFFSETS)}
    assert PROPERTIES["config.providers.env.param.allowlist.pattern"] == "|".join((ADDRESS, BROKERS, OFFSETS))


def test_every_client_logs_in_as_the_worker_does() -> None:
    for prefix in ("", "producer.", "consumer.", "admin."):
        assert {key: PROPERTIES[f"{prefix}{key}"] for key in IAM_LOGIN} == IAM_LOGIN


def test_secrets_are_read_where_a_connector_names_any() -> None:
    with_secrets = worker_properties(NAME, plugin_path="/p", login={}, secrets_region="eu-west-1")
    assert with_secrets["config.providers"] == "env,secretsmanager"
    assert with_secrets["config.providers.secretsmanager.class"] == SECRETS_PROVIDER
    assert not [key for key in PROPERTIES if "secretsmanager" in key]


def test_every_source_is_compiled() -> None:
    assert {each.source for each in ALL} == set(Path(connect_workers.__file__).parent.glob("java/*.java"))


@pytest.mark.integration
def test_each_class_is_what_its_source_compiles_to() -> None:
    # Otherwise: `./lake dev generate worker-classes`.
    assert compile_classes([each.source for each in ALL]) == {
        each.source: base64.b64decode(each.compiled.read_text(encoding="ascii")) for each in ALL
    }


def test_a_plugin_has_the_classes_and_what_finds_them() -> None:
    files = resources(*ALL)
    services = "META-INF/services/org.apache.kafka.connect."
    assert {name.removeprefix(services): text for name, text in files.items() if name.startswith(services)} == {
        "rest.ConnectRestExtension": "cdclake.WorkerHealth\n",
        "transforms.Transformation": "cdclake.ResumableOffsets\ncdclake.WithoutDefaults\ncdclake.Utf8Only\n",
        "transforms.predicates.Predicate": "cdclake.IsTruncate\n",
    }
    classes = {name: base64.b64decode(text) for name, text in files.items() if name.endswith(".class")}
    assert classes.keys() == {f"{each.name.replace('.', '/')}.class" for each in ALL}
    assert all(code.startswith(b"\xca\xfe\xba\xbe") for code in classes.values())


def test_hashed_columns_have_a_converter_before_the_others_that_reads_the_salts_property() -> None:
    people = CapturedTable(schema="public", table="people", hashed=("mail",))
    found = source_connector(replace(SOURCE, tables=(people,)))
    first, every = found["converters"].split(",")
    assert (found[f"{first}.type"], found[f"{every}.type"]) == (HASHED_COLUMNS.name, EVERY_VALUE.name)
    assert {found[f"{name}.placeholder"] for name in (first, every)} == {found["unavailable.value.placeholder"]}
    every_only, outbox = source_connector(replace(SOURCE, tables=TABLES)), source_connector(SOURCE)
    assert (every_only["converters"], every_only[f"{every}.type"]) == (every, EVERY_VALUE.name)
    assert "converters" not in outbox
    assert is_secret(SALT_PROPERTY)
    assert f'"{SALT_PROPERTY.removeprefix(f"{first}.")}"' in HASHED_COLUMNS.source.read_text()
    assert SALT_PROPERTY.startswith(f"{first}.")


# The time at which an event was recorded.
PASSING = ("__db", "__lsn", "__source_ts_ms")


@pytest.mark.integration
def test_debezium_sends_what_was_recorded_of_each_types_values(
    database: ConnectionParameters, shared_broker: RunningBroker, tmp_path: Path
) -> None:
    found = record(database, shared_broker.kafka, tmp_path)
    recorded = TARGET.read_text(encoding="utf-8").strip().split("\n")
    for event, expected in zip(map(lasting, found), map(lasting, recorded), strict=True):
        assert event == expected


def lasting(line: str | bytes) -> dict[str, Any]:
    return {name: value for name, value in json.loads(line).items() if name not in PASSING}
