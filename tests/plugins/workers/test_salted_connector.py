"""Our classes on the source connector's worker; test_verified_source.py runs them there."""

import base64

from contract.secret_names import is_secret
from plugins.connector_settings import SALT, SourceSettings
from plugins.source.captured import CapturedTable
from plugins.source.source_connector import source_connector
from plugins.workers.salted_connector import CONNECTOR, SALT_PROPERTY, SOURCES, resources, salted

REFERENCE = "${secretsmanager:dev/salt:salt}"


def test_the_salt_is_a_reference_and_its_place_is_kept_free() -> None:
    people = CapturedTable(schema="public", table="people", hashed=("mail",))
    settings = SourceSettings(database_hostname="h", database_password="${x:y}", topic_prefix="p", tables=(people,))
    configuration = salted(source_connector(settings), REFERENCE)
    assert configuration["connector.class"] == CONNECTOR
    assert configuration[SALT_PROPERTY] == REFERENCE
    [name] = [name for name in configuration if name.startswith("column.mask.hash")]
    assert name.endswith(f".{SALT}")


def test_what_shows_configurations_knows_the_salt_as_a_secret() -> None:
    assert is_secret(SALT_PROPERTY)


def test_the_java_source_speaks_of_the_same_names() -> None:
    [task] = [source.read_text() for source in SOURCES if source.stem == "SaltedTask"]
    assert f'"{SALT}"' in task
    assert f'"{SALT_PROPERTY}"' in task


def test_a_plugin_has_the_classes_and_what_finds_them() -> None:
    files = resources()
    assert files["META-INF/services/org.apache.kafka.connect.source.SourceConnector"] == f"{CONNECTOR}\n"
    classes = [name for name in files if name.endswith(".class")]
    assert f"{CONNECTOR.replace('.', '/')}.class" in classes
    assert all(base64.b64decode(files[name]).startswith(b"\xca\xfe\xba\xbe") for name in classes)
