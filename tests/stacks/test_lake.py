"""The lake's buckets and database: who reaches them, their retention, and what survives."""

import pytest

from settings.load import load
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth


def test_what_has_landed_expires_and_the_sinks_bookkeeping_never(environment: Synthesized) -> None:
    settings = load(environment.name)
    [landing] = [
        bucket
        for bucket in environment.properties("lake", "AWS::S3::Bucket")
        if bucket["BucketName"] == settings.bucket_name("landing")
    ]
    expiring = [rule for rule in landing["LifecycleConfiguration"]["Rules"] if "ExpirationInDays" in rule]
    assert [(rule["Prefix"], rule["ExpirationInDays"]) for rule in expiring] == [
        (f"{settings.pipelines[0].landing_prefix}/", settings.lake.landing_expiry_days)
    ]
    for bookkeeping in (".indexes/", ".temp-upload/"):
        assert not any(bookkeeping.startswith(rule["Prefix"]) for rule in expiring)
