"""The lake's buckets and database: who reaches them, how long what is kept, and what survives."""

from typing import Any

import pytest

from settings.load import load
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth
ROLES = {"artefacts", "lake", "landing", "logs", "results"}


def buckets(environment: Synthesized) -> dict[str, dict[str, Any]]:
    """The buckets' resources by their roles."""
    found = environment.resources("lake", "AWS::S3::Bucket").values()
    return {bucket["Properties"]["BucketName"].split("-cdc-lake-")[1].split("-")[0]: bucket for bucket in found}


def rules(bucket: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = bucket["Properties"]["LifecycleConfiguration"]["Rules"]
    return found


def test_no_bucket_is_public_plain_or_without_versions(prod: Synthesized) -> None:
    assert set(buckets(prod)) == ROLES
    for bucket in buckets(prod).values():
        properties = bucket["Properties"]
        assert set(properties["PublicAccessBlockConfiguration"].values()) == {True}
        assert properties["OwnershipControls"]["Rules"] == [{"ObjectOwnership": "BucketOwnerEnforced"}]
        assert properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        assert properties["VersioningConfiguration"] == {"Status": "Enabled"}


def test_every_bucket_takes_tls_alone(dev: Synthesized) -> None:
    policies = dev.resources("lake", "AWS::S3::BucketPolicy").values()
    assert len(policies) == len(ROLES)
    for policy in policies:
        denied = [
            statement["Condition"]
            for statement in policy["Properties"]["PolicyDocument"]["Statement"]
            if statement["Effect"] == "Deny"
            and statement["Action"] == "s3:*"
            and statement["Principal"] == {"AWS": "*"}
        ]
        assert {"Bool": {"aws:SecureTransport": "false"}} in denied


def test_accesses_are_logged_into_the_logs_bucket(dev: Synthesized) -> None:
    for role, bucket in buckets(dev).items():
        logging = bucket["Properties"].get("LoggingConfiguration")
        assert (logging is None) is (role == "logs")
        if logging:
            assert logging["LogFilePrefix"] == f"access/{role}/"


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


def test_tables_and_artefacts_never_expire(dev: Synthesized) -> None:
    # What custom resources write down while they are deployed is worth nothing a day later.
    for role, passing in {"lake": set(), "artefacts": {"requests/"}}.items():
        assert {rule.get("Prefix") for rule in rules(buckets(dev)[role]) if "ExpirationInDays" in rule} == passing


def test_logs_expire(prod: Synthesized) -> None:
    [rule] = [rule for rule in rules(buckets(prod)["logs"]) if "ExpirationInDays" in rule]
    assert (rule["ExpirationInDays"], rule.get("Prefix")) == (load("prod").lake.log_expiry_days, None)


def test_old_versions_and_broken_uploads_go_everywhere(dev: Synthesized) -> None:
    days = load("dev").lake.noncurrent_version_expiry_days
    for bucket in buckets(dev).values():
        [rule] = [rule for rule in rules(bucket) if "AbortIncompleteMultipartUpload" in rule]
        assert "Prefix" not in rule
        assert rule["NoncurrentVersionExpiration"] == {"NoncurrentDays": days}
        assert rule["ExpiredObjectDeleteMarker"] is True


def test_landed_objects_are_counted_without_the_bookkeeping(dev: Synthesized) -> None:
    counted = buckets(dev)["landing"]["Properties"]["MetricsConfigurations"]
    assert counted == [{"Id": "landed", "Prefix": f"{load('dev').pipelines[0].landing_prefix}/"}]


def test_data_survives_in_production_and_goes_in_dev(dev: Synthesized, prod: Synthesized) -> None:
    for environment, deleted, replaced in ((dev, "Delete", "Delete"), (prod, "RetainExceptOnCreate", "Retain")):
        [database] = environment.resources("lake", "AWS::Glue::Database").values()
        for resource in (*buckets(environment).values(), database):
            assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == (deleted, replaced)
    assert len(dev.resources("lake", "Custom::S3AutoDeleteObjects")) == len(ROLES)
    assert prod.resources("lake", "Custom::S3AutoDeleteObjects") == {}


def test_the_glue_database_is_the_environments(dev: Synthesized) -> None:
    [database] = dev.resources("lake", "AWS::Glue::Database").values()
    assert database["Properties"]["DatabaseInput"]["Name"] == load("dev").lake.database
