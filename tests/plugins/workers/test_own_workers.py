"""The configuration of our own workers, and the rights that their role needs for it."""

from plugins.connector_names import offset_topic, workers_group, workers_topics
from plugins.connector_settings import SinkSettings
from plugins.kafka.topics import own_worker_access, sink_access, worker_access
from plugins.workers.connect_workers import ADDRESS, BROKERS, IAM_LOGIN, OFFSETS, SECRETS_PROVIDER, worker_properties

NAME = "dev-cdc-lake-orders-sink"


def test_the_role_has_the_names_that_the_workers_use_and_no_patterns() -> None:
    properties = worker_properties(NAME, plugin_path="/p", login=IAM_LOGIN)
    grants = own_worker_access(NAME, offset_topic(NAME))
    named = {name for grant in grants for name in grant.names}
    assert named == {*workers_topics(NAME), offset_topic(NAME), workers_group(NAME)}
    assert {properties["config.storage.topic"], properties["status.storage.topic"]} == {*workers_topics(NAME)}
    assert properties["group.id"] == workers_group(NAME)
    assert not [name for name in named if "*" in name]


def test_an_own_worker_takes_the_place_of_msk_connects() -> None:
    settings = SinkSettings(name=NAME, topics=("orders",), bucket="landing", region="us-east-1")
    own = own_worker_access(settings.name, offset_topic(settings.name))
    theirs = worker_access(settings.name)
    rest = sink_access(settings)[len(theirs) :]
    assert sink_access(settings, worker=own) == (*own, *rest)


def test_what_a_pod_knows_alone_comes_from_its_environment() -> None:
    properties = worker_properties(NAME, plugin_path="/p", login=IAM_LOGIN)
    named = {value for value in properties.values() if value.startswith("${env:")}
    assert named == {f"${{env:{name}}}" for name in (ADDRESS, BROKERS, OFFSETS)}
    assert properties["config.providers.env.param.allowlist.pattern"] == "|".join((ADDRESS, BROKERS, OFFSETS))


def test_every_client_logs_in_as_the_worker_does() -> None:
    properties = worker_properties(NAME, plugin_path="/p", login=IAM_LOGIN)
    for prefix in ("", "producer.", "consumer.", "admin."):
        assert {key: properties[f"{prefix}{key}"] for key in IAM_LOGIN} == IAM_LOGIN


def test_secrets_are_read_where_a_connector_names_any() -> None:
    with_secrets = worker_properties(NAME, plugin_path="/p", login={}, secrets_region="eu-west-1")
    assert with_secrets["config.providers"] == "env,secretsmanager"
    assert with_secrets["config.providers.secretsmanager.class"] == SECRETS_PROVIDER
    without = worker_properties(NAME, plugin_path="/p", login={})
    assert not [key for key in without if "secretsmanager" in key]
