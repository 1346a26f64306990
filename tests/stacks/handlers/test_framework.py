"""What every handler shares: requests, waiting, reasons that fit, and secrets that are hidden."""

import json
import logging
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ParamValidationError

from stacks.handlers import framework
from stacks.handlers.framework import Done, Handler, ResourceError, Waiting, retry_reason
from stacks.handlers.worker_log import HIDDEN, hidden
from tests.stacks.handlers.cloudformation import STACK_ID, Clock

SECRET = "hunter2"


def event(kind: str = "Create", **more: Any) -> dict[str, Any]:
    return {
        "RequestType": kind,
        "RequestId": "1",
        "StackId": STACK_ID,
        "LogicalResourceId": "Source",
        "PhysicalResourceId": "name",
        "ResponseURL": SECRET,
        "ResourceProperties": {"Request": json.dumps({"name": "a", "secret": SECRET})},
        "Started": 1_795_240_800,
        **more,
    }


def handler(step: Any) -> Handler:
    return Handler(start=lambda _event: "name", settle=step, remove=step)


def failing_with(error: Exception) -> Handler:
    def step(_event: object) -> Done:
        raise error

    return handler(step)


def client_error(code: str, status: int = 400) -> ClientError:
    answer: Any = {"Error": {"Code": code, "Message": "text"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "DescribeConnector")


def test_it_gives_up_before_cloudformation_and_cdk_do_unless_it_is_done_at_the_last_moment(clock: Clock) -> None:
    # CloudFormation's limit is an hour; a poll may come 30 s late and take five minutes.
    assert framework.DEADLINE_SECONDS + 30 <= 3_600 - 4 * 60
    clock.seconds += framework.DEADLINE_SECONDS
    with pytest.raises(ResourceError, match="gave up waiting: rain"):
        handler(lambda _event: Waiting("rain")).is_complete(event(), None)
    assert handler(lambda _event: Done(data={"a": 1})).is_complete(event(), None)["Data"] == {"a": 1}


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (client_error("ThrottlingException"), "DescribeConnector again after ThrottlingException"),
        (client_error("SlowDown"), "DescribeConnector again after SlowDown"),
        (client_error("InternalServerError"), "DescribeConnector again after InternalServerError"),
        (client_error("Odd", 503), "DescribeConnector again after Odd"),
        (EndpointConnectionError(endpoint_url="x"), "AWS again after EndpointConnectionError"),
        (client_error("LimitExceededException"), None),
    ],
    ids=str,
)
def test_what_passes_is_waited_for(error: Exception, reason: str | None) -> None:
    assert retry_reason(error) == reason
    if reason:
        assert failing_with(error).is_complete(event(), None) == {"IsComplete": False}


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (client_error("AccessDeniedException"), "DescribeConnector: AccessDeniedException: text"),
        (ParamValidationError(report="Missing required parameter"), "Missing required parameter"),
        (ResourceError("x" * 10_000), "…"),
    ],
)
def test_what_stays_is_a_reason_that_fits(error: Exception, reason: str) -> None:
    with pytest.raises(ResourceError, match=reason) as raised:
        failing_with(error).is_complete(event(), None)
    assert len(json.dumps(str(raised.value))) <= framework.REASON_BYTES + 10


def test_a_reason_keeps_its_beginning_and_its_end() -> None:
    text = framework.shortened("begin " + '"ü\n' * 4_000 + " end")
    assert text.startswith("begin")
    assert text.endswith("end")
    assert len(json.dumps(text, ensure_ascii=False).encode()) <= framework.REASON_BYTES


def test_a_bug_is_not_dressed_up_as_a_reason() -> None:
    with pytest.raises(ZeroDivisionError):
        failing_with(ZeroDivisionError()).is_complete(event(), None)


@pytest.mark.usefixtures("clock")
def test_the_log_has_identifiers_only(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    waiting = handler(lambda _event: Waiting("rain"))
    waiting.on_event(event(), None)
    waiting.is_complete(event(), None)
    with pytest.raises(ResourceError):
        failing_with(client_error("AccessDeniedException")).is_complete(event(), None)
    assert "Create Source name waiting: rain" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize("text", ["", "[]", "{", "5"])
def test_a_request_that_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ResourceError, match="must be one JSON object"):
        framework.request(event(ResourceProperties={"Request": text}), required={})


def test_the_request_before_is_read_as_far_as_it_is_known() -> None:
    kinds: dict[str, Any] = {"required": {"name": str}, "optional": {}}
    assert framework.old_request(event(), **kinds) is None
    old = event()["ResourceProperties"]
    assert framework.old_request(event(OldResourceProperties=old), **kinds) == {"name": "a", "secret": SECRET}
    assert framework.old_request(event(OldResourceProperties={"Request": "{}"}), **kinds) is None


def test_a_first_call_waits_as_long_as_it_may(clock: Clock) -> None:
    """It wouldn't be repeated: CloudFormation treats its failure as the request's."""
    began, until = clock.seconds, clock.seconds + 180

    def start(_event: object) -> str:
        if clock.seconds < until:
            raise client_error("ThrottlingException")
        return "name"

    def never(_event: object) -> Done:
        raise AssertionError

    patient = Handler(start=start, settle=never, remove=never)
    assert patient.on_event(event(), None)["PhysicalResourceId"] == "name"
    # Less than the functions' five minutes, including a call that begins at the last moment.
    assert framework.PATIENCE_SECONDS + framework.LONGEST_PAUSE_SECONDS + framework.CALL_SECONDS / 2 < 300
    assert clock.seconds - began < 180 + framework.LONGEST_PAUSE_SECONDS
    until = clock.seconds + 10_000
    with pytest.raises(ResourceError, match="ThrottlingException"):
        patient.on_event(event(), None)


@pytest.mark.parametrize(
    "text",
    [
        *("password=hunter2", "database.password = hunter2 x", "Secret: hunter2", '{"password":"hunter2"}'),
        '{"database.password" : "hun hunter2", "user":"hunter2 hunter2"}',
        *("{'passwd': 'hunter2'}", r"{\"password\":\"hunter2\",\"a\":1}", r'"password":"a\"hunter2"'),
        *('password="hunter2 with blanks hunter2"', "password='hunter2 with blanks'", "passwd=hunter2"),
        *('password="hunter2 that the line cuts', "db_pwd=hunter2", "sslpassword=hunter2&x=1", "PRIVATE_KEY=hunter2"),
        *("ALTER ROLE cdc_connector WITH PASSWORD 'hunter2'", "jdbc:postgresql://cdc:hunter2@host/db"),
        *("postgresql://cdc:hun/ter2@hunter2@host:5432/db", "https://:hunter2@host", "authorization => hunter2"),
        *("Authorization: Bearer hunter2hunter2", "Authorization: Basic aHVudGVyMg==hunter2"),
        *("sent Bearer hunter2hunter2 to", "connect.s3.aws.access.key=hunter2", "connect.s3.aws.secret.key=hunter2"),
        *("aws_access_key_id: hunter2", "api-key: hunter2", "session token: hunter2"),
        "sasl.jaas.config=org.apache.kafka.Login required username=u password='hunter2 x';",
        "password: ${x} hunter1 PASSWORD=hunter2",
    ],
)
def test_a_secret_is_hidden(text: str) -> None:
    shown = hidden(text)
    assert HIDDEN in shown
    # Values under non-secret names are the sender's responsibility.
    assert SECRET not in shown.replace('"user":"hunter2 hunter2"', "")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("signed by AKIAIOSFODNN7EXAMPLE now", f"signed by {HIDDEN} now"),
        ('{"password":"hunter2","slot":"cdc"}', f'{{"password":{HIDDEN},"slot":"cdc"}}'),
        ("x://u:hunter2@host/db failed", f"x://{HIDDEN}@host/db failed"),
        *(
            (text, text)
            for text in (
                "Caused by: no pg_hba.conf entry for host 10.0.1.2, user cdc_connector, database devdb",
                "org.apache.kafka.connect.errors.ConnectException: slot cdc_orders is active for PID 42",
                "https://host:8083/connectors failed at 10:11:12",
                "FATAL: password authentication failed for user x",
                "s3://bucket/key@v1 missing",
            )
        ),
    ],
)
def test_what_says_why_stays_around_a_secret(text: str, shown: str) -> None:
    assert hidden(text) == shown
