"""Weaker protection than before: policies on deletion, retention, backups, encryption, alarms."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from operate.changes.compare import short_type
from operate.diff.normal_form import Template, from_to, resource

# The most destructive first, which is CloudFormation's default.
POLICIES = ("Delete", "Snapshot", "RetainExceptOnCreate", "Retain")
FOR_EVER = 1 << 31
HOUR_MS = 3_600_000


class Guard(NamedTuple):
    """A property of a type that protects: `weaker` compares its old value with the new one."""

    type: str
    path: str
    what: str
    weaker: Callable[[Any, Any], bool]


def _fewer(before: Any, after: Any) -> bool:
    """Whether a number of days or the like is smaller; a missing one means for ever."""
    old, new = (FOR_EVER if each is None else each for each in (before, after))
    return isinstance(old, int) and isinstance(new, int) and new < old


def _more(before: Any, after: Any) -> bool:
    return isinstance(before, int | float) and isinstance(after, int | float) and after > before


def _lost(good: Any) -> Callable[[Any, Any], bool]:
    return lambda before, after: before == good and after != good


def _gone(before: Any, after: Any) -> bool:
    return bool(before) and not after


def _off(before: Any, after: Any) -> bool:
    return before is not False and after is False


def _opened(before: Any, after: Any) -> bool:
    return before is not True and after is True


def _fewer_types(before: Any, after: Any) -> bool:
    old, new = ({str(each.get("Type")) for each in side or []} for side in (before, after))
    return bool(old - new)


def _fewer_kinds(before: Any, after: Any) -> bool:
    old, new = ({str(kind) for each in side or [] for kind in each.get("Resources") or []} for side in (before, after))
    return bool(old - new)


_BLOCKS = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
GUARDS = (
    Guard("AWS::Logs::LogGroup", "RetentionInDays", "days that events are kept", _fewer),
    Guard("AWS::RDS::DBCluster", "BackupRetentionPeriod", "days that backups are kept", _fewer),
    Guard("AWS::RDS::DBCluster", "DeletionProtection", "protection from deletion", _lost(True)),
    Guard("AWS::RDS::DBCluster", "StorageEncrypted", "encryption", _lost(True)),
    Guard("AWS::RDS::DBInstance", "PubliclyAccessible", "a public database", _opened),
    Guard("AWS::S3::Bucket", "VersioningConfiguration.Status", "versions of what is overwritten", _lost("Enabled")),
    Guard("AWS::S3::Bucket", "BucketEncryption", "encryption", _gone),
    *(
        Guard("AWS::S3::Bucket", f"PublicAccessBlockConfiguration.{name}", "closed to the public", _lost(True))
        for name in _BLOCKS
    ),
    Guard("AWS::KMS::Key", "EnableKeyRotation", "rotation of the key", _lost(True)),
    Guard("AWS::KMS::Key", "PendingWindowInDays", "days until a deleted key is gone", _fewer),
    Guard("AWS::MSK::Cluster", "EncryptionInfo.EncryptionInTransit.ClientBroker", "TLS to the brokers", _lost("TLS")),
    Guard("AWS::MSK::Cluster", "EncryptionInfo.EncryptionInTransit.InCluster", "TLS between brokers", _off),
    Guard("AWS::MSK::Cluster", "ClientAuthentication.Unauthenticated.Enabled", "clients without a name", _opened),
    Guard("AWS::MSK::Cluster", "ClientAuthentication.Sasl.Iam.Enabled", "IAM", _lost(True)),
    Guard("AWS::EKS::Cluster", "EncryptionConfig", "encryption of Kubernetes's secrets", _fewer_kinds),
    Guard("AWS::EKS::Cluster", "Logging.ClusterLogging.EnabledTypes", "logs of the Kubernetes API", _fewer_types),
    Guard("AWS::EKS::Cluster", "ResourcesVpcConfig.EndpointPrivateAccess", "an API inside the VPC", _lost(True)),
    Guard("AWS::EKS::Cluster", "DeletionProtection", "protection from deletion", _lost(True)),
    Guard("AWS::EC2::Instance", "MetadataOptions.HttpTokens", "tokens at the metadata", _lost("required")),
    Guard("AWS::EC2::Subnet", "MapPublicIpOnLaunch", "public addresses for all", _opened),
    Guard(
        "AWS::SecretsManager::RotationSchedule", "RotationRules", "how often it is rotated", lambda old, new: old != new
    ),
    Guard("AWS::Budgets::Budget", "Budget.BudgetLimit.Amount", "USD a month until the alarm on costs", _more),
    Guard("AWS::Budgets::Budget", "NotificationsWithSubscribers", "whom the alarm on costs tells", _gone),
    Guard("AWS::CloudWatch::Alarm", "ActionsEnabled", "the alarm's actions", _off),
    Guard("AWS::CloudWatch::Alarm", "AlarmActions", "whom the alarm tells", _gone),
    Guard("AWS::CloudWatch::Alarm", "EvaluationPeriods", "periods until the alarm", _more),
    Guard("AWS::CloudWatch::Alarm", "DatapointsToAlarm", "periods until the alarm", _more),
    Guard("AWS::CloudWatch::Alarm", "Period", "seconds of a period", _more),
    Guard("AWS::CloudWatch::Alarm", "TreatMissingData", "missing data is an alarm", _lost("breaching")),
)
# Types whose loss goes unnoticed until they are needed.
WATCHES = {
    "AWS::CloudWatch::Alarm": "the alarm is gone",
    "AWS::EC2::FlowLog": "nobody can tell any more who has reached what",
    "AWS::S3::BucketPolicy": "the bucket's policy is gone",
    "AWS::SecretsManager::RotationSchedule": "the secret is no longer rotated",
    "AWS::SNS::Subscription": "these alarms reach nobody there any more",
    "Custom::GuardedDeployment": "plain `cdk deploy` is no longer refused what `./lake aws deploy` refuses",
    "Custom::ProtectedDatabase": "the database is no longer protected from deletion",
}


def weakened(stack: str, before: Template, after: Template) -> Iterator[str]:
    """List what a stack's resources protect less, a line for each."""
    for name, old in sorted(before["Resources"].items()):
        new = after["Resources"].get(name)
        said = f"{stack}/{resource(name)} ({short_type(old['Type'])})"
        if new is None:
            if old["Type"] in WATCHES:
                yield f"{said}: {WATCHES[old['Type']]}"
            continue
        for policy in ("DeletionPolicy", "UpdateReplacePolicy"):
            was, is_ = old.get(policy, POLICIES[0]), new.get(policy, POLICIES[0])
            if POLICIES.index(is_) < POLICIES.index(was):
                yield f"{said}: {policy} {was} → {is_}"
        for line in _properties(old["Type"], old.get("Properties", {}), new.get("Properties", {})):
            yield f"{said}: {line}"


def _properties(type_: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for guard in GUARDS:
        if guard.type == type_:
            was, is_ = (_at(properties, guard.path) for properties in (before, after))
            if guard.weaker(was, is_):
                yield f"{guard.what}: {from_to(was, is_)}"
    if type_ == "AWS::S3::Bucket":
        yield from _lifecycle(before, after)
    if type_ == "AWS::CloudWatch::Alarm":
        yield from _threshold(before, after)
    if type_ == "Custom::Topics":
        yield from _topics(before, after)


def _at(value: Any, path: str) -> Any:
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _lifecycle(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    old, new = (
        {str(rule.get("Id")): rule for rule in _at(each, "LifecycleConfiguration.Rules") or []}
        for each in (before, after)
    )
    for path in ("ExpirationInDays", "NoncurrentVersionExpiration.NoncurrentDays"):
        for name, rule in new.items():
            was, is_ = _at(old.get(name), path), _at(rule, path)
            if _fewer(was, is_):
                yield f"days that objects are kept by the rule {name}: {from_to(was or 'for ever', is_)}"


def _threshold(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    was, is_ = before.get("Threshold"), after.get("Threshold")
    upwards = str(after.get("ComparisonOperator")).startswith("Greater")
    if _more(was, is_) if upwards else _more(is_, was):
        yield f"the alarm's threshold: {from_to(was, is_)}"


def _topics(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    old, new = ({each["name"]: each for each in _at(side, "Request.json.topics") or []} for side in (before, after))
    for name in sorted(old.keys() & new.keys()):
        was, is_ = (str((side[name].get("config") or {}).get("retention.ms")) for side in (old, new))
        if was.isdecimal() and is_.isdecimal() and int(is_) < int(was):
            yield f"hours that the topic {name} keeps its events: {int(was) / HOUR_MS:g} → {int(is_) / HOUR_MS:g}"
