"""The lake's buckets and database: who reaches them, how long what is kept, and what survives."""

from typing import Any

import pytest

from settings.load import load
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth


def buckets(environment: Synthesized) -> dict[str, dict[str, Any]]:
    """The buckets' resources by their roles."""
    found = environment.resources("lake", "AWS::S3::Bucket").values()
    return {bucket["Properties"]["BucketName"].split("-cdc-lake-")[1].split("-")[0]: bucket for bucket in found}


def rules(bucket: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = bucket["Properties"]["LifecycleConfiguration"]["Rules"]
    return found


@pytest.mark.parametrize("name", ["dev", "prod"])
def test_what_has_landed_expires_and_the_sinks_bookkeeping_never(
    dev: Synthesized, prod: Synthesized, name: str
) -> None:
    environment = {"dev": dev, "prod": prod}[name]
    expiring = [rule for rule in rules(buckets(environment)["landing"]) if "ExpirationInDays" in rule]
    settings = load(name)
    assert [(rule["Prefix"], rule["ExpirationInDays"]) for rule in expiring] == [
        (f"{settings.pipelines[0].landing_prefix}/", settings.lake.landing_expiry_days)
    ]
    for bookkeeping in (".indexes/", ".temp-upload/"):
        assert not any(bookkeeping.startswith(rule["Prefix"]) for rule in expiring)
