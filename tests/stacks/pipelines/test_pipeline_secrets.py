"""The salt of hashed columns on AWS: created by Secrets Manager, in no template or connector configuration."""

import json

import pytest

from plugins.connector_settings import SALT
from plugins.source.source_connector import SALT_KEY, SALT_PROPERTY
from plugins.workers.connect_workers import EVERY_VALUE, SALTED_CONNECTOR, SALTED_TASK, resources
from stacks.gate.template import plain_text
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth


def test_a_pipeline_that_hashes_has_a_generated_salt_and_no_other_has(many: Synthesized) -> None:
    secrets = many.resources("database", "AWS::SecretsManager::Secret")
    salts = {name: secret for name, secret in secrets.items() if "HashSalt" in name}
    [(name, salt)] = salts.items()
    assert name.startswith("ErpHashSalt")
    generated = salt["Properties"]["GenerateSecretString"]
    assert generated["GenerateStringKey"] == SALT_KEY
    # The format that SaltedTask.java accepts: 16 to 128 letters and digits.
    assert 16 <= generated["PasswordLength"] <= 128
    assert generated["ExcludePunctuation"] is True
    assert "SecretString" not in salt["Properties"]


def test_its_connector_takes_it_by_reference_in_place_of_the_token(many: Synthesized) -> None:
    found = many.resources("connectors", "Custom::Connector").values()
    texts = [plain_text(resource["Properties"]["Request"]) for resource in found]
    [erp] = [text for text in texts if '"connectorName":"dev-cdc-lake-erp-source"' in text]
    assert f'"connector.class":"{SALTED_CONNECTOR.name}"' in erp
    assert f'"{SALT_PROPERTY}":"${{secretsmanager:' in erp
    assert f":{SALT_KEY}}}" in erp
    assert f"with.salt.{SALT}" in erp
    others = [text for text in texts if text is not erp]
    assert not [text for text in others if SALT_PROPERTY in text]


def test_the_classes_are_in_each_plugin_of_ordinary_tables(many: Synthesized) -> None:
    """Also where nothing is hashed yet: a plugin is updated before the configuration that names its class."""
    ours = resources(EVERY_VALUE, SALTED_TASK, SALTED_CONNECTOR).items()
    plugins = many.requests("connectors", "Custom::Plugin")
    found = {name.partition("Plugin")[0]: request.get("resources", {}) for name, request in plugins.items()}
    having = {name for name, resources in found.items() if ours <= resources.items()}
    assert having == {"ShopSource", "WideSource", "CrmSource", "ErpSource"}


def test_no_template_has_a_salt(many: Synthesized) -> None:
    for request in many.requests("connectors", "Custom::Connector").values():
        names = [name for name in request["connectorConfiguration"] if "with.salt" in name]
        assert all(name.endswith(SALT) for name in names), json.dumps(names)
