"""CloudFormation's answers; botocore's stubber checks requests and answers against the service's model."""

from typing import Any

import boto3
import pytest
from botocore.stub import Stubber


@pytest.fixture
def service() -> Any:
    return boto3.client(
        "cloudformation", region_name="ap-southeast-2", aws_access_key_id="x", aws_secret_access_key="x"
    )


@pytest.fixture
def answers(service: Any) -> Any:
    with Stubber(service) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()
