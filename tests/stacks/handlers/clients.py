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
def client(service: str) -> Any:
    """A boto3 client for all tests: creating one takes longer than most of them."""
    # Signing takes a fifth of a call's time; only moto's S3 requires it.
    unsigned = Config(signature_version=UNSIGNED) if service.startswith("kafka") else None
    return boto3.client(service, config=ONCE.merge(unsigned) if unsigned else ONCE, **CREDENTIALS)  # type: ignore[call-overload]
