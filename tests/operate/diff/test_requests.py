"""Changes in our custom resources' requests are listed key by key, with their meaning."""

from operate.diff.requests import requests
from tests.operate.diff.conftest import Templates


def said(templates: Templates, stack: str) -> list[str]:
    return list(requests(stack, templates.before[stack], templates.after[stack]))


def test_nothing_is_said_of_templates_that_are_the_same(templates: Templates) -> None:
    assert [line for stack in templates.before for line in said(templates, stack)] == []


def test_a_connectors_configuration_is_told_by_key(templates: Templates) -> None:
    configuration = templates.request("connectors", "Custom::Connector", "Source")["connectorConfiguration"]
    configuration["slot.name"] = "another"
    configuration["poll.interval.ms"] = "100"
    del configuration["heartbeat.interval.ms"]
    configuration["snapshot.max.threads"] = "4"
    begin = "connectors/SourceConnector (Connector): connectorConfiguration"
    assert said(templates, "connectors") == [
        f"{begin} heartbeat.interval.ms: gone, was 10000. How soon the slot moves on in a quiet database; until then"
        " WAL is held",
        f"{begin} poll.interval.ms: 500 → 100",
        f"{begin} slot.name: cdc_orders → another. Another slot begins now: what the old one still held isn't captured",
        f"{begin} snapshot.max.threads: new, 4",
    ]


def test_of_a_long_statement_only_what_differs_is_shown(templates: Templates) -> None:
    configuration = templates.request("connectors", "Custom::Connector", "Sink")["connectorConfiguration"]
    configuration["connect.s3.kcql"] = configuration["connect.s3.kcql"].replace("5000", "1000")
    [line] = said(templates, "connectors")
    assert "'flush.count'=5000) → " in line
    assert "'flush.count'=1000). What lands where" in line
    assert "INSERT INTO" not in line


def test_workers_and_role_are_told(templates: Templates) -> None:
    request = templates.request("connectors", "Custom::Connector", "Sink")
    request["capacity"]["provisionedCapacity"]["workerCount"] = 2
    request["serviceExecutionRoleArn"] = "<OtherRole295E6157.Arn>"
    assert said(templates, "connectors") == [
        "connectors/SinkConnector (Connector): capacity provisionedCapacity workerCount: 1 → 2. Workers are added or"
        " taken away; tasks move over",
        "connectors/SinkConnector (Connector): serviceExecutionRoleArn: <SinkRole> → <OtherRole>. What the connector"
        " may do is another role's",
    ]


def test_a_steps_arguments_are_told_by_option(templates: Templates) -> None:
    arguments = templates.request("processing", "Custom::EmrStep")["arguments"]
    arguments[arguments.index("--driver-memory") + 1] = "3g"
    arguments[arguments.index("spark.executor.instances=2")] = "spark.executor.instances=4"
    arguments.remove("--enable-sync")
    arguments.insert(1, "--verbose")
    begin = "processing/Stepcdcevents (EmrStep): arguments"
    assert said(templates, "processing") == [
        f"{begin} --conf spark.executor.instances: 2 → 4",
        f"{begin} --driver-memory: 2g → 3g. Must fit the node that it runs on",
        f"{begin} --enable-sync: gone. Whether Glue, and so Athena, learns of tables and columns",
        f"{begin} --verbose: new",
    ]


def test_topics_are_told_by_name(templates: Templates) -> None:
    topics = templates.request("connectors", "Custom::Topics")["topics"]
    topics[0]["partitions"] = 3
    topics.append({"name": "dead", "partitions": 1})
    assert said(templates, "connectors") == [
        "connectors/Topics (Topics): topic dead partitions: new, 1. More are added and never taken away; a key may go"
        " to another one from then on",
        "connectors/Topics (Topics): topic msk.datalake.cdc_events partitions: 1 → 3. More are added and never taken"
        " away; a key may go to another one from then on",
    ]


def test_a_plugins_version_is_told_as_a_change_of_its_release(templates: Templates) -> None:
    release = templates.request("connectors", "Custom::Plugin", "SourcePlugin")["releases"][0]
    release["file"] = "debezium-connector-postgres-3.8.0.Final-plugin.tar.gz"
    [line] = said(templates, "connectors")
    begin = "connectors/SourcePlugin (Plugin): release debezium-connector-postgres file: "
    assert line.startswith(begin)
    assert line.endswith("3.8.0.Final-plugin.tar.gz")


def test_the_preparation_is_told(templates: Templates) -> None:
    request = templates.request("database", "Custom::PreparedSource")
    request["sqlHash"] = "0" * 64
    request["sampleScale"] += 1
    assert [line.partition(": ")[2].rpartition(". ")[2] for line in said(templates, "database")] == [
        "Counts when the database is made: data that is there stays",
        "The SQL that prepares the source has changed: it runs again, and migrates the outbox in place",
    ]
