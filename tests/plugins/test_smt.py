import zipfile

import pytest

from local.setup.jars import jar_folder
from plugins.connector_properties import (
    STANDARD,
    insert_topic,
    insert_values,
    key_of,
    problems,
    properties,
    rename,
    to_header,
)

STEPS = (
    *key_of("address_id"),
    insert_topic("message_topic"),
    *insert_values({"message_source": "pagila"}),
    *rename({"district": "state_province"}),
    to_header("country"),
)


def test_steps_are_taken_in_their_order() -> None:
    config = properties(STEPS)
    assert config["transforms"] == "createKey,extractKey,insertTopic,insert_message_source,rename,toHeader"
    assert config["transforms.createKey.fields"] == config["transforms.extractKey.field"] == "address_id"
    assert config["transforms.extractKey.type"].endswith("ExtractField$Key")
    assert config["transforms.rename.renames"] == "district:state_province"


def test_no_step_is_no_property() -> None:
    assert properties(()) == {}
    assert rename({}) == ()


def test_every_inserted_field_has_a_name_and_a_value() -> None:
    config = properties(STEPS)
    assert config["transforms.insertTopic.topic.field"] == "message_topic"
    assert config["transforms.insert_message_source.static.field"] == "message_source"
    assert config["transforms.insert_message_source.static.value"] == "pagila"
    assert not list(problems(config))


def test_the_folders_field_leaves_the_value() -> None:
    assert to_header("country").properties["operation"] == "move"


def test_an_insertion_without_a_field_is_refused_as_its_task_would_do() -> None:
    config = {"transforms": "a", "transforms.a.type": f"{STANDARD}.InsertField$Value"}
    [(name, reason)] = problems(config)
    assert name == "transforms.a"
    assert "No field insertion configured" in reason


def test_an_insertion_without_a_value_is_refused() -> None:
    config = {
        "transforms": "a",
        "transforms.a.type": f"{STANDARD}.InsertField$Value",
        "transforms.a.static.field": "b",
    }
    assert [name for name, _ in problems(config)] == ["transforms.a.static.value"]


def test_a_step_without_a_type_is_refused() -> None:
    assert [name for name, _ in problems({"transforms": "a, b", "transforms.a.type": "x"})] == ["transforms.b.type"]


@pytest.mark.parametrize("names", [{"a,b": "c"}, {"a": "b:c"}, {"": "a"}])
def test_names_that_a_list_cannot_say_are_refused(names: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"^rename: "):
        rename(names)


@pytest.mark.integration
def test_kafka_has_these_transformations_and_they_these_properties() -> None:
    [jar] = jar_folder("kafka").glob("connect-transforms-*.jar")
    with zipfile.ZipFile(jar) as archive:
        for step in STEPS:
            name = step.properties["type"]
            classes = archive.read(f"{name.split('$')[0].replace('.', '/')}.class")
            assert f"{name.replace('.', '/')}.class" in archive.namelist()
            for key in step.properties.keys() - {"type"}:
                assert len(key).to_bytes(2, "big") + key.encode() in classes, (name, key)
