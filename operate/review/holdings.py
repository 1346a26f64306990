"""Resources that hold data: their encryption, retention and backups, and what a deletion does."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from operate.review.material import Material
from stacks.gate.template import Subject

AUTO_DELETE = "Custom::S3AutoDeleteObjects"
KEPT, DELETED, SNAPSHOT = "kept", "deleted", "deleted, with a last snapshot"
_POLICIES = {"Retain": KEPT, "RetainExceptOnCreate": KEPT, "Snapshot": SNAPSHOT, "Delete": DELETED}
# At most this many log groups are named.
FEW = 5
# CloudFormation's default for a cluster is a snapshot.
_UNSAID = {"AWS::RDS::DBCluster": SNAPSHOT}


@dataclass(frozen=True, kw_only=True)
class Holding:
    """Something that holds data; `encryption` and the others are words, `missing` what a reviewer should check."""

    name: str
    what: str
    encryption: str
    retention: str
    backup: str
    on_delete: str
    on_replacement: str
    missing: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        return self.on_delete == KEPT


# What a resource is, how it is encrypted, how long its data stays, and its backup.
Words = tuple[str, str, str, str]


def holdings(material: Material) -> tuple[Holding, ...]:
    """Read what holds data, and group log groups by their fate."""
    return tuple(
        _holding(material.name(subject.stack, subject.id), describe(material, subject), fates(material, subject))
        for type_, describe in DESCRIPTIONS.items()
        for subject in material.app.resources(type_)
    ) + tuple(_logs(material))


def _holding(name: str, words: Words, fate: tuple[str, str]) -> Holding:
    what, encryption, retention, backup = words
    missing = [word for word, text in (("encryption", encryption), ("retention", retention)) if text.startswith("none")]
    return Holding(
        name=name,
        what=what,
        encryption=encryption,
        retention=retention,
        backup=backup,
        on_delete=fate[0],
        on_replacement=fate[1],
        missing=tuple(missing),
    )


def fates(material: Material, subject: Subject) -> tuple[str, str]:
    """Describe what happens to a resource when its stack is deleted, and when it is replaced."""
    unsaid = _UNSAID.get(subject.type, DELETED)
    deletion, replacement = subject.resource.get("DeletionPolicy"), subject.resource.get("UpdateReplacePolicy")
    on_delete = _POLICIES.get(str(deletion), unsaid)
    if subject.type == "AWS::S3::Bucket" and on_delete == DELETED:
        emptied = any(
            subject.app.target(each.stack, each.get("BucketName")) == (subject.stack, subject.id)
            for each in material.app.resources(AUTO_DELETE)
        )
        on_delete = "deleted, emptied before" if emptied else "deleted if it is empty, else the deletion fails"
    return on_delete, _POLICIES.get(str(replacement), DELETED)


def _bucket(material: Material, subject: Subject) -> Words:
    rules = subject.get("BucketEncryption.ServerSideEncryptionConfiguration") or []
    algorithms = {str(rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"]) for rule in rules}
    names = {"AES256": "S3's own key (AES-256)", "aws:kms": "a KMS key"}
    encryption = ", ".join(sorted(names.get(name, name) for name in algorithms))
    versions = subject.get("VersioningConfiguration.Status") == "Enabled"
    return (
        f"S3 bucket {material.title(subject)}",
        encryption or "none of the template's (AWS: AES-256)",
        "; ".join(_lifecycle(subject)) or "none: everything stays",
        "old versions of objects" if versions else "none: no versions",
    )


def _lifecycle(subject: Subject) -> Iterator[str]:
    rules = [rule for rule in subject.get("LifecycleConfiguration.Rules") or [] if rule.get("Status") == "Enabled"]
    if rules and not any(rule.get("ExpirationInDays") and not rule.get("Prefix") for rule in rules):
        yield "objects: until somebody deletes them"
    for rule in rules:
        where = f" below {rule['Prefix']}" if rule.get("Prefix") else ""
        if days := rule.get("ExpirationInDays"):
            yield f"objects{where}: {_days(days)}"
        if days := rule.get("NoncurrentVersionExpiration", {}).get("NoncurrentDays"):
            yield f"old versions{where}: {_days(days)}"


def _days(count: object) -> str:
    return "1 day" if str(count) == "1" else f"{count} days"


def _key_of(subject: Subject, path: str, service: str) -> str:
    return "a KMS key of the template's" if subject.get(path) else f"AWS's key for {service}"


def _database(_material: Material, subject: Subject) -> Words:
    days = subject.get("BackupRetentionPeriod")
    encrypted = subject.get("StorageEncrypted") is True
    protected = "; deletion protection" if subject.get("DeletionProtection") else ""
    return (
        f"Aurora cluster ({subject.get('Engine')} {subject.get('EngineVersion')}){protected}",
        _key_of(subject, "KmsKeyId", "RDS") if encrypted else "none",
        "until somebody deletes it",
        f"{_days(days)}, to any second" if days else "1 day, AWS's default",
    )


def _brokers(_material: Material, subject: Subject) -> Words:
    transit = subject.get("EncryptionInfo.EncryptionInTransit.ClientBroker") or "TLS"
    return (
        f"Kafka brokers (MSK, Kafka {subject.get('KafkaVersion')})",
        f"{_key_of(subject, 'EncryptionInfo.EncryptionAtRest', 'MSK')}; on the way: {transit}",
        "each topic's own: the topics are in section 6",
        "none: the replicas, and what has landed in S3",
    )


def _emr(_material: Material, subject: Subject) -> Words:
    encryption = "a KMS key of the template's" if subject.get("SecurityConfiguration") else "none"
    return "EMR's nodes: disks of a running job", encryption, "while the cluster runs", "none: the tables are in S3"


def _catalogue(_material: Material, subject: Subject) -> Words:
    return (
        f"Glue database {subject.get('DatabaseInput.Name')}: the tables' names and columns",
        "AWS's setting of the account",
        "until somebody deletes it",
        "none: the job writes it again",
    )


def _key(material: Material, subject: Subject) -> Words:
    rotated = "rotated every year" if subject.get("EnableKeyRotation") else "never rotated"
    kept = "while it is there: what it has encrypted can't be read without it"
    return f"KMS key: {material.title(subject)}", rotated, kept, "none"


def _disk(_material: Material, subject: Subject) -> Words:
    disks = subject.get("BlockDeviceMappings") or []
    encrypted = bool(disks) and all(disk.get("Ebs", {}).get("Encrypted") is True for disk in disks)
    return (
        "the disk of an instance",
        "AWS's key for EBS" if encrypted else "none",
        "while the instance is there",
        "none",
    )


DESCRIPTIONS: dict[str, Callable[[Material, Subject], Words]] = {
    "AWS::RDS::DBCluster": _database,
    "AWS::MSK::Cluster": _brokers,
    "AWS::S3::Bucket": _bucket,
    "AWS::Glue::Database": _catalogue,
    "AWS::EMR::Cluster": _emr,
    "AWS::EC2::Instance": _disk,
    "AWS::KMS::Key": _key,
}


def _logs(material: Material) -> Iterator[Holding]:
    """Kept log groups one by one; those of the functions together."""
    alike: dict[tuple[str, str, tuple[str, str]], list[str]] = {}
    for subject in material.app.resources("AWS::Logs::LogGroup"):
        days = subject.get("RetentionInDays")
        retention = _days(days) if days else "none: everything stays"
        key = (_key_of(subject, "KmsKeyId", "CloudWatch Logs"), retention, fates(material, subject))
        alike.setdefault(key, []).append(material.name(subject.stack, subject.id))
    for (encryption, retention, fate), names in alike.items():
        shown = ", ".join(names) if len(names) <= FEW else f"{len(names)} log groups, such as {names[0]}"
        what = "log group" if len(names) == 1 else "log groups"
        yield _holding(shown, (what, encryption, retention, "none"), fate)
