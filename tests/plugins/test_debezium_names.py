"""The source's property names against the connector's own classes: Connect ignores a name that it doesn't know."""

import tarfile
import zipfile
from io import BytesIO

import pytest

from local.setup.jars import jar_folder
from plugins import source_properties
from plugins.connector_settings import SourceSettings
from plugins.source_connector import source_connector

pytestmark = pytest.mark.integration

# Kafka Connect's own, and the SMT's prefix.
CONNECT = (
    "connector.class",
    "errors.log.",
    "key.converter",
    "producer.override.",
    "tasks.max",
    "topic.creation.",
    "transforms",
    "value.conv",
)
UNWRAP = "transforms.unwrap."


@pytest.fixture(scope="module")
def class_files() -> bytes:
    """All classes of the plugin archive, one behind the other."""
    [archive] = jar_folder("debezium").glob("debezium-connector-postgres-*-plugin.tar.gz")
    classes: list[bytes] = []
    with tarfile.open(archive) as tar:
        for member in tar:
            file = tar.extractfile(member) if "/debezium-" in member.name and member.name.endswith(".jar") else None
            if file is not None:
                with zipfile.ZipFile(BytesIO(file.read())) as jar:
                    classes += [jar.read(name) for name in jar.namelist() if name.endswith(".class")]
    return b"".join(classes)


def is_constant(text: str, classes: bytes) -> bool:
    """Tell whether a class has the text as a constant: a tag, its length in two bytes, and the text itself."""
    return b"\x01" + len(text).to_bytes(2, "big") + text.encode() in classes


def test_debezium_knows_every_property_of_the_source(class_files: bytes) -> None:
    settings = SourceSettings(database_hostname="db", database_password="${file:/a:b}", topic_prefix="demo")
    config = source_connector(settings)
    names = [name for name in config if not name.startswith(CONNECT)]
    names += [name.removeprefix(UNWRAP) for name in config if name.startswith(UNWRAP) and not name.endswith(".type")]
    assert len(names) > 25
    unknown = {name for name in names if not is_constant(name, class_files)}
    # These it puts together from two constants.
    assert unknown == {f"database.{part}" for part in ("hostname", "port", "dbname", "user", "password")}
    for name in unknown:
        assert is_constant(name.removeprefix("database."), class_files)


def test_debezium_knows_every_property_that_the_rules_refuse(class_files: bytes) -> None:
    names = {*source_properties.LOSING, *source_properties.CONTRADICTIONS}
    ours = {name for name in names if not name.startswith(CONNECT) and name != "errors.tolerance"}
    assert len(ours) > 18
    assert {name for name in ours if not is_constant(name, class_files)} == set()


@pytest.mark.parametrize("name", ["database.server.name", "delete.handling.mode", "schema.include"])
def test_names_of_2021_are_gone(name: str, class_files: bytes) -> None:
    assert not is_constant(name, class_files)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delete.tombstone.handling.mode", "rewrite"),
        ("decimal.handling.mode", "string"),
        ("event.converting.failure.handling.mode", "fail"),
        ("publication.autocreate.mode", "disabled"),
        ("time.precision.mode", "adaptive"),
        ("snapshot.mode", "when_needed"),
    ],
)
def test_debezium_knows_the_values(name: str, value: str, class_files: bytes) -> None:
    assert is_constant(name, class_files)
    assert is_constant(value, class_files)
