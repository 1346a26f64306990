"""Templates for comparison: their normal form, snapshots and patches, and what is deployed, with moto."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from operate.diff import snapshots
from operate.diff.normal_form import ASSET, SECRET, normal_form, text_of
from operate.diff.snapshots import deployed, difference, patched
from operate.errors import OperateError
from settings.environment import Environment
from settings.load import load
from tests.operate.conftest import deploy
from tests.operate.diff.conftest import Templates

DEV = load("dev")
LAKE = {"dev-cdc-lake-lake": {"Resources": {"B": {"Type": "AWS::S3::Bucket"}}}}


def test_another_environment_stands_as_what_differs_once_its_names_are_put(tmp_path: Path) -> None:
    prod = load("prod")
    names = {"DeletionPolicy": "Delete", "Properties": {"Name": "dev-cdc-lake", "Account": DEV.account}}
    theirs = {"DeletionPolicy": "Retain", "Properties": {"Name": "prod-cdc-lake", "Account": prod.account}}
    snapshots.write(DEV, {"dev-cdc-lake-lake": {"Resources": {"B": names}}}, tmp_path)
    snapshots.write(prod, {"prod-cdc-lake-lake": {"Resources": {"B": theirs}}}, tmp_path)
    written = json.loads((tmp_path / "prod" / "lake.json").read_text())
    assert written == {"Resources": {"B": {"DeletionPolicy": "Retain"}}}
    assert snapshots.read(prod, tmp_path) == {"lake": {"Resources": {"B": theirs}}}


def test_what_is_written_is_read_by_the_stacks_short_name_and_one_that_is_gone_leaves_no_file(tmp_path: Path) -> None:
    snapshots.write(DEV, LAKE | {"dev-cdc-lake-old": {"Resources": {}}}, tmp_path)
    snapshots.write(DEV, LAKE, tmp_path)
    assert snapshots.read(DEV, tmp_path) == {"lake": LAKE["dev-cdc-lake-lake"]}


def test_a_missing_or_broken_snapshot_is_named_with_the_command(tmp_path: Path) -> None:
    missing = r"there is no snapshot in tests/snapshots/dev: run `\./lake aws synth --save`"
    with pytest.raises(OperateError, match=missing):
        snapshots.read(DEV, tmp_path)
    snapshots.write(DEV, LAKE, tmp_path)
    (tmp_path / "dev" / "lake.json").write_text("<<<<<<< HEAD")
    with pytest.raises(OperateError, match=r"tests/snapshots/dev/lake.json: .*: run `./lake aws synth --save`"):
        snapshots.read(DEV, tmp_path)


KEYS = st.sampled_from(["Name", "Bucket0123ABCD", "Bucket4567EF01", "Key"])
VALUES = st.recursive(
    st.integers(0, 2) | st.text("ab", max_size=1),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


# A busy machine is no failure: neither the time to draw a value nor to try it is bounded.
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(before=st.dictionaries(KEYS, VALUES), after=st.dictionaries(KEYS, VALUES))
def test_what_a_patch_was_made_of_comes_back(before: dict[str, Any], after: dict[str, Any]) -> None:
    patch = difference(before, after)
    assert before == after if patch is None else patched(before, patch) == after


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({"A": 1, "B": 2}, {"A": 1, "C": 3}, {"B": None, "C": 3}),
        ({"A": ["long", "list", "of", "words"]}, {"A": ["long", "list", "of", "W"]}, {"A": {"at": {"3": "W"}}}),
        ({"A": [1, 2]}, {"A": [1]}, {"A": [1]}),
        (
            {"Bastion01234567": {"Type": "T", "Size": 1}},
            {"Bastion89ABCDEF": {"Type": "T", "Size": 2}},
            {"Bastion01234567": None, "Bastion89ABCDEF": {"like": "Bastion01234567", "Size": 2}},
        ),
    ],
)
def test_a_patch_says_only_what_differs(before: dict[str, Any], after: dict[str, Any], patch: dict[str, Any]) -> None:
    assert difference(before, after) == patch


HASH = "0123456789abcdef" * 4


def normal(properties: Any) -> Any:
    return normal_form({"Resources": {"R": {"Type": "Custom::Connector", "Properties": properties}}})["Resources"]["R"][
        "Properties"
    ]


PASSWORD = {"Fn::Select": [0, {"Fn::Split": ["-", {"Ref": "Secret"}]}]}
REFERENCE = "{{resolve:secretsmanager:arn:SecretString:password::}}"


def request(**values: Any) -> dict[str, Any]:
    return {"Request": json.dumps(values)}


def opened(**values: Any) -> dict[str, Any]:
    return {"Request": {"json": values}}


@pytest.mark.parametrize(
    ("properties", "shown"),
    [
        (
            {"Request": {"Fn::Join": ["", ['{"role":"', {"Fn::GetAtt": ["Role1", "Arn"]}, '","workers":2}']]}},
            opened(role="<Role1.Arn>", workers=2),
        ),
        (
            {"Request": {"Fn::Join": ["", ['{"password":"${secretsmanager:', PASSWORD, ':password}"}']]}},
            opened(password="${secretsmanager:<Select 0, <Split -, <Secret>>>:password}"),
        ),
        (
            {"UserData": {"Fn::Base64": "#!/bin/sh\nexit"}},
            {"UserData": {"Fn::Base64": {"lines": ["#!/bin/sh", "exit"]}}},
        ),
        (
            {"S3Key": f"{HASH}.zip", "Script": f"s3://assets/{HASH}.py", "sha256": HASH},
            {"S3Key": f"{ASSET}.zip", "Script": f"s3://assets/{ASSET}.py", "sha256": HASH},
        ),
        (request(nested={"db.password": "hunter2"}), opened(nested={"db.password": SECRET})),
        (request(**{"sasl.jaas.config": "x password=hunter2"}), opened(**{"sasl.jaas.config": SECRET})),
        (request(**{"db.password": "${secretsmanager:a:b}"}), opened(**{"db.password": "${secretsmanager:a:b}"})),
        ({"MasterUserPassword": REFERENCE}, {"MasterUserPassword": REFERENCE}),
        (
            {"PropertiesFileContent": base64.b64encode(b"a=1\nssl.key.password=hunter2").decode()},
            {"PropertiesFileContent": {"file": ["a=1", f"ssl.key.password={SECRET}"]}},
        ),
    ],
)
def test_texts_are_opened_without_assets_hashes_or_secrets(properties: dict[str, Any], shown: dict[str, Any]) -> None:
    assert normal(properties) == shown


@pytest.mark.parametrize("name", ["MasterUserPassword", "SecretString", "Password"])
@pytest.mark.parametrize("value", ["hunter2", "hunter2\nand more", '{"a": "hunter2"}'])
def test_a_secret_in_a_property_is_never_shown_whatever_it_looks_like(name: str, value: str) -> None:
    assert "hunter2" not in json.dumps(normal({name: value}))


def test_the_normal_form_of_a_normal_form_is_itself_and_the_text_says_all_of_it(templates: Templates) -> None:
    for template in templates.before.values():
        assert normal_form(template) == template == json.loads(text_of(template))


def test_a_snapshot_has_lines_that_people_can_read(templates: Templates) -> None:
    for stack, template in templates.before.items():
        long = [line for line in text_of(template).splitlines() if len(line) > 2_000]
        assert long == [], stack


def test_another_hash_of_an_asset_moves_no_resource() -> None:
    def statement(*resources: str) -> dict[str, Any]:
        return {"Resources": {"Policy": {"Properties": {"Resource": list(resources)}}}}

    first, second = "a" * 64, "b" * 64
    job, settings = "arn:aws:s3:::assets/{}.py", "arn:aws:s3:::assets/{}.properties"
    other = "arn:aws:s3:::stop/*"
    before = statement(job.format(first), settings.format(second), other)
    after = statement(settings.format(first), job.format(second), other)
    assert normal_form(before) == normal_form(after)
    assert normal_form(before) != normal_form(statement(other, job.format(first)))


TOPIC: Any = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}, "Outputs": {}, "TerminationProtection": False}


@pytest.mark.usefixtures("aws")
def test_the_environments_stacks_are_read_and_nobody_elses(environment: Environment) -> None:
    for name in ("dev-cdc-lake-lake", "dev-cdc-lake-former", "prod-cdc-lake-lake", "other"):
        deploy(name)
    assert deployed(environment) == {"dev-cdc-lake-lake": TOPIC, "dev-cdc-lake-former": TOPIC}


@pytest.mark.usefixtures("aws")
def test_nothing_deployed_is_one_line(environment: Environment) -> None:
    with pytest.raises(OperateError, match="nothing of dev-cdc-lake is deployed in ap-southeast-2: without --deployed"):
        deployed(environment)
    with pytest.raises(OperateError, match=r"your credentials are of account 123456789012, but .*111111111111"):
        deployed(environment.model_copy(update={"account": "111111111111"}))
