import pytest

from stacks.handlers.worker_log import HIDDEN, hidden

SECRET = "hunter2"


@pytest.mark.parametrize(
    "text",
    [
        "password=hunter2",
        "database.password = hunter2 x",
        "Secret: hunter2",
        '{"password":"hunter2"}',
        '{"database.password" : "hun ter2", "user":"hunter2 hunter2"}',
        "{'passwd': 'hunter2'}",
        r"{\"password\":\"hunter2\",\"a\":1}",
        r'"password":"a\"hunter2"',
        'password="hunter2 with blanks hunter2"',
        "password='hunter2 with blanks'",
        'password="hunter2 that the line cuts',
        "passwd=hunter2",
        "db_pwd=hunter2",
        "sslpassword=hunter2&x=1",
        "ALTER ROLE cdc_connector WITH PASSWORD 'hunter2'",
        "jdbc:postgresql://cdc:hunter2@host/db",
        "postgresql://cdc:hun/ter2@hunter2@host:5432/db",
        "https://:hunter2@host",
        "Authorization: Bearer hunter2hunter2",
        "Authorization: Basic aHVudGVyMg==hunter2",
        "sent Bearer hunter2hunter2 to",
        "authorization => hunter2",
        "connect.s3.aws.access.key=hunter2",
        "connect.s3.aws.secret.key=hunter2",
        "aws_access_key_id: hunter2",
        "api-key: hunter2",
        "sasl.jaas.config=org.apache.kafka.Login required username=u password='hunter2 x';",
        "session token: hunter2",
        "PRIVATE_KEY=hunter2",
        "password: ${x} hunter1 PASSWORD=hunter2",
    ],
)
def test_a_secret_is_hidden(text: str) -> None:
    shown = hidden(text)
    assert HIDDEN in shown
    # Values under non-secret names are the sender's responsibility.
    assert SECRET not in shown.replace('"user":"hunter2 hunter2"', "")


def test_an_access_key_is_known_by_its_form() -> None:
    assert hidden("signed by AKIAIOSFODNN7EXAMPLE now") == f"signed by {HIDDEN} now"


@pytest.mark.parametrize(
    "text",
    [
        "Caused by: no pg_hba.conf entry for host 10.0.1.2, user cdc_connector, database devdb",
        "org.apache.kafka.connect.errors.ConnectException: slot cdc_orders is active for PID 42",
        "https://host:8083/connectors failed at 10:11:12",
        "FATAL: password authentication failed for user x",
        "s3://bucket/key@v1 missing",
    ],
)
def test_what_says_why_stays(text: str) -> None:
    assert hidden(text) == text


def test_the_rest_of_the_line_stays() -> None:
    assert hidden('{"password":"hunter2","slot":"cdc"}') == f'{{"password":{HIDDEN},"slot":"cdc"}}'
    assert hidden("x://u:hunter2@host/db failed") == f"x://{HIDDEN}@host/db failed"
