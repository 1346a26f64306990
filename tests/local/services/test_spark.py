from pathlib import Path

import pytest

from local.services.spark import _environment


def test_the_job_asks_the_servers_on_loopback_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    environment = _environment(Path("spark"), "http://127.0.0.1:1", "http://127.0.0.1:2")
    wanted = {
        "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1",
        "AWS_ENDPOINT_URL_GLUE": "http://127.0.0.1:2",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_EC2_METADATA_DISABLED": "true",
        # Independent of the caller's locale.
        "LC_ALL": "C.UTF-8",
    }
    assert {name: environment.get(name) for name in wanted} == wanted
