"""boto3 clients for the tests, none of which reaches AWS."""

import functools
from typing import Any

import boto3
from botocore import UNSIGNED
from botocore.config import Config

CREDENTIALS = {"aws_access_key_id": "none", "aws_secret_access_key": "none", "region_name": "ap-southeast-2"}
# The test repeats faults, not botocore.
ONCE = Config(retries={"mode": "standard", "total_max_attempts": 1})


@functools.cache
def client(service: str, attempts: int = 1) -> Any:
    """A boto3 client for all tests: creating one takes longer than most of them.

    One of more `attempts` repeats a call whose answer is lost, as botocore does (stand_in.py).
    """
    # Signing takes a fifth of a call's time; only moto's S3 requires it.
    unsigned = Config(signature_version=UNSIGNED) if service.startswith("kafka") else None
    config = ONCE.merge(Config(retries={"mode": "standard", "total_max_attempts": attempts}))
    return boto3.client(service, config=config.merge(unsigned) if unsigned else config, **CREDENTIALS)  # type: ignore[call-overload]


def of_config(service: str, config: Config, **_: object) -> Any:
    """The tests' client for a handler's own: MSK Connect's repeats calls as the handler's would."""
    attempts = config.retries["total_max_attempts"]  # type: ignore[attr-defined]
    return client(service, attempts) if service == "kafkaconnect" and attempts > 1 else client(service)
