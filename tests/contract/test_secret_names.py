import pytest

from contract.secret_names import is_secret


@pytest.mark.parametrize(
    "name",
    [
        "database.password",
        "connect.s3.aws.access.key",
        "consumer.override.sasl.jaas.config",
        "producer.override.ssl.keystore.key",
        "SECRET",
        "config.providers.secretsmanager.param.token",
        "basic.authorization",
    ],
)
def test_a_key_whose_value_is_a_secret_is_known(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ["config.providers.secretsmanager.class", "key.converter", "message.key.columns"])
def test_another_key_is_none(name: str) -> None:
    assert not is_secret(name)
