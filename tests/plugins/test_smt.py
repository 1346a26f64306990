import zipfile

import pytest

from local.setup.jars import jar_folder
from plugins.connector_properties import insert_topic, insert_values, key_of, problems, properties, rename, to_header

STEPS = (
    *key_of("address_id"),
    insert_topic("message_topic"),
    *insert_values({"message_source": "pagila"}),
    *rename({"district": "state_province"}),
    to_header("country"),
)


INSERTION = {"transforms": "a", "transforms.a.type": "org.apache.kafka.connect.transforms.InsertField$Value"}


def test_steps_are_taken_in_their_order() -> None:
    config = properties(STEPS)
    assert config["transforms"] == "createKey,extractKey,insertTopic,insert_message_source,rename,toHeader"
    given = {
        "createKey.fields": "address_id",
        "extractKey.field": "address_id",
        "extractKey.type": "org.apache.kafka.connect.transforms.ExtractField$Key",
        "insertTopic.topic.field": "message_topic",
        "insert_message_source.static.field": "message_source",
        "insert_message_source.static.value": "pagila",
        "rename.renames": "district:state_province",
        # The folders' field leaves the value.
        "toHeader.operation": "move",
    }
    assert {name: config[f"transforms.{name}"] for name in given} == given
    assert not list(problems(config))


def test_no_step_is_no_property() -> None:
    assert properties(()) == {}
    assert rename({}) == ()


@pytest.mark.parametrize(
    ("config", "name", "reason"),
    [
        (INSERTION, "transforms.a", "No field insertion configured"),
        (INSERTION | {"transforms.a.static.field": "b"}, "transforms.a.static.value", "is missing"),
        ({"transforms": "a, b", "transforms.a.type": "x"}, "transforms.b.type", "is missing"),
    ],
)
def test_a_step_that_does_nothing_is_refused_by_its_property(config: dict[str, str], name: str, reason: str) -> None:
    [(named, said)] = problems(config)
    assert named == name
    assert reason in said


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
