"""The compiled classes of Connect's workers match their sources."""

import base64
from pathlib import Path

import pytest

from contract.secret_names import is_secret
from local.tools.worker_classes import compile_classes
from plugins.connector_settings import SALT, SourceSettings
from plugins.source.captured import CapturedTable
from plugins.source.source_connector import SALT_PROPERTY, salted, source_connector
from plugins.workers import connect_workers
from plugins.workers.connect_workers import (
    ALL,
    SALTED_CONNECTOR,
    SALTED_TASK,
    resources,
)


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
        "source.SourceConnector": "cdclake.SaltedConnector\n",
        "transforms.Transformation": "cdclake.WithoutDefaults\ncdclake.Utf8Only\n",
        "transforms.predicates.Predicate": "cdclake.IsTruncate\n",
    }
    classes = {name: base64.b64decode(text) for name, text in files.items() if name.endswith(".class")}
    assert classes.keys() == {f"{each.name.replace('.', '/')}.class" for each in ALL}
    assert all(code.startswith(b"\xca\xfe\xba\xbe") for code in classes.values())


def test_the_salt_is_a_reference_and_its_place_is_kept_free() -> None:
    people = CapturedTable(schema="public", table="people", hashed=("mail",))
    settings = SourceSettings(database_hostname="h", database_password="${x:y}", topic_prefix="p", tables=(people,))
    configuration = salted(source_connector(settings), "${secretsmanager:dev/salt:salt}")
    assert configuration["connector.class"] == SALTED_CONNECTOR.name
    assert configuration[SALT_PROPERTY] == "${secretsmanager:dev/salt:salt}"
    [name] = [name for name in configuration if name.startswith("column.mask.hash")]
    assert name.endswith(f".{SALT}")


def test_the_salts_property_is_a_secret_and_the_java_source_speaks_of_it() -> None:
    assert is_secret(SALT_PROPERTY)
    task = SALTED_TASK.source.read_text()
    assert f'"{SALT}"' in task
    assert f'"{SALT_PROPERTY}"' in task
