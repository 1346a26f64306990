"""The normal form of templates for comparison: no asset hashes, no secrets, parsed texts."""

import base64
import json
from typing import Any

import pytest

from operate.diff.normal_form import ASSET, SECRET, normal_form, text_of
from tests.operate.diff.conftest import Templates

HASH = "0123456789abcdef" * 4


def normal(properties: Any) -> Any:
    return normal_form({"Resources": {"R": {"Type": "Custom::Connector", "Properties": properties}}})["Resources"]["R"][
        "Properties"
    ]


def test_a_request_is_opened_and_its_references_stay_readable() -> None:
    request = {"Fn::Join": ["", ['{"role":"', {"Fn::GetAtt": ["Role1", "Arn"]}, '","workers":2}']]}
    assert normal({"Request": request}) == {"Request": {"json": {"role": "<Role1.Arn>", "workers": 2}}}


def test_a_function_within_a_request_leaves_it_readable() -> None:
    password = {"Fn::Select": [0, {"Fn::Split": ["-", {"Ref": "Secret"}]}]}
    request = {"Fn::Join": ["", ['{"database.password":"${secretsmanager:', password, ':password}"}']]}
    assert normal({"Request": request})["Request"]["json"] == {
        "database.password": "${secretsmanager:<Select 0, <Split -, <Secret>>>:password}"
    }


def test_a_text_of_several_lines_is_lines() -> None:
    assert normal({"UserData": {"Fn::Base64": "#!/bin/sh\nexit"}}) == {
        "UserData": {"Fn::Base64": {"lines": ["#!/bin/sh", "exit"]}}
    }


def test_an_assets_hash_is_left_out_and_a_pinned_sum_stays() -> None:
    found = normal({"S3Key": f"{HASH}.zip", "Script": f"s3://assets/{HASH}.py", "sha256": HASH})
    assert found == {"S3Key": f"{ASSET}.zip", "Script": f"s3://assets/{ASSET}.py", "sha256": HASH}


@pytest.mark.parametrize(
    ("properties", "shown"),
    [
        ({"Request": json.dumps({"sasl.jaas.config": "x password=hunter2"})}, {"sasl.jaas.config": SECRET}),
        ({"Request": json.dumps({"nested": {"db.password": "hunter2"}})}, {"nested": {"db.password": SECRET}}),
        ({"Request": json.dumps({"db.password": "${secretsmanager:a:b}"})}, {"db.password": "${secretsmanager:a:b}"}),
    ],
)
def test_a_secret_in_a_request_is_never_shown(properties: dict[str, Any], shown: dict[str, Any]) -> None:
    assert normal(properties) == {"Request": {"json": shown}}


@pytest.mark.parametrize("name", ["MasterUserPassword", "SecretString", "Password"])
def test_a_secret_in_a_property_is_never_shown_whatever_it_looks_like(name: str) -> None:
    for value in ("hunter2", "hunter2\nand more", '{"a": "hunter2"}'):
        assert "hunter2" not in json.dumps(normal({name: value}))
    reference = "{{resolve:secretsmanager:arn:SecretString:password::}}"
    assert normal({name: reference}) == {name: reference}


def test_a_workers_settings_are_shown_without_their_secrets() -> None:
    text = base64.b64encode(b"a=1\nssl.key.password=hunter2").decode()
    assert normal({"PropertiesFileContent": text}) == {
        "PropertiesFileContent": {"file": ["a=1", f"ssl.key.password={SECRET}"]}
    }


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
