"""Resources that hold data: their encryption, retention and backups, and what a deletion does."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from operate.review.material import Material
from operate.review.rows import Section, Table, count, grouped, several
from stacks.gate.data import EMPTIES
from stacks.gate.network import users
from stacks.gate.template import Subject

KEPT, DELETED, SNAPSHOT = "kept", "deleted", "deleted, with a last snapshot"
_POLICIES = {"Retain": KEPT, "RetainExceptOnCreate": KEPT, "Snapshot": SNAPSHOT, "Delete": DELETED}
# What a resource is, how it is encrypted, how long its data stays, and its backup.
Words = tuple[str, str, str, str]


class Holding(NamedTuple):
    """A row: something that holds data."""

    name: str
    what: str
    encryption: str
    retention: str
    backup: str
    on_delete: str
    on_replacement: str

    @property
    def missing(self) -> str:
        """What a reviewer should check: that it has no encryption or no retention."""
        words = (("encryption", self.encryption), ("retention", self.retention))
        return " and ".join(f"no {word}" for word, text in words if text.startswith("none"))


def holdings(material: Material) -> tuple[Holding, ...]:
    """Read what holds data, and group log groups by their fate."""
    found = (
        Holding(material.name(subject), *describe(material, subject), *fates(subject))
        for type_, describe in DESCRIPTIONS.items()
        for subject in material.app.resources(type_)
    )
    return (*found, *_logs(material))


def section(held: tuple[Holding, ...]) -> Section:
    heads = ("Where", "What", "Encrypted by", "Kept for", "Backup", "On delete", "On replacement")
    table = Table("What holds data, and what becomes of it", heads, held)
    fold = f"Encryption, retention, backups and what becomes of {count(len(held), 'holder')} of data"
    return Section(title="What holds data", fold=fold, folded=(table,))


def fates(subject: Subject) -> tuple[str, str]:
    """Describe what happens to a resource when its stack is deleted, and when it is replaced."""
    # CloudFormation's default for a cluster is a snapshot.
    unsaid = SNAPSHOT if subject.type == "AWS::RDS::DBCluster" else DELETED
    on_delete = _POLICIES.get(str(subject.resource.get("DeletionPolicy")), unsaid)
    if subject.type == "AWS::S3::Bucket" and (on_delete == DELETED or users(subject, EMPTIES)):
        left = "deleted if it is empty, else the deletion fails"
        on_delete = f"{on_delete}, emptied before" if users(subject, EMPTIES) else left
    return on_delete, _POLICIES.get(str(subject.resource.get("UpdateReplacePolicy")), DELETED)


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
            yield f"objects{where}: {count(days, 'day')}"
        if days := rule.get("NoncurrentVersionExpiration", {}).get("NoncurrentDays"):
            yield f"old versions{where}: {count(days, 'day')}"


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
        f"{count(days, 'day')}, to any second" if days else "1 day, AWS's default",
    )


def _disk(_material: Material, subject: Subject) -> Words:
    disks = subject.get("BlockDeviceMappings") or [{}]
    encrypted = all(disk.get("Ebs", {}).get("Encrypted") is True for disk in disks)
    key = "AWS's key for EBS" if encrypted else "none"
    return "the disk of an instance", key, "while the instance is there", "none"


def encryption_of_emr(cluster: Subject) -> Mapping[str, Any]:
    security = cluster.referred(cluster.get("SecurityConfiguration"))
    return (security.get("SecurityConfiguration.EncryptionConfiguration") if security else None) or {}


DESCRIPTIONS: dict[str, Callable[[Material, Subject], Words]] = {
    "AWS::RDS::DBCluster": _database,
    "AWS::MSK::Cluster": lambda _, subject: (
        f"Kafka brokers (MSK, Kafka {subject.get('KafkaVersion')})",
        f"{_key_of(subject, 'EncryptionInfo.EncryptionAtRest', 'MSK')}; on the way: "
        f"{subject.get('EncryptionInfo.EncryptionInTransit.ClientBroker') or 'TLS'}",
        "each topic's own: the topics are in section 6",
        "none: the replicas, and what has landed in S3",
    ),
    "AWS::S3::Bucket": _bucket,
    "AWS::Glue::Database": lambda _, subject: (
        f"Glue database {subject.get('DatabaseInput.Name')}: the tables' names and columns",
        "AWS's setting of the account",
        "until somebody deletes it",
        "none: the job writes it again",
    ),
    "AWS::EMR::Cluster": lambda _, subject: (
        "EMR's nodes: disks of a running job",
        "a KMS key of the template's" if encryption_of_emr(subject).get("EnableAtRestEncryption") is True else "none",
        "while the cluster runs",
        "none: the tables are in S3",
    ),
    "AWS::EC2::Instance": _disk,
    "AWS::KMS::Key": lambda material, subject: (
        f"KMS key: {material.title(subject)}",
        "rotated every year" if subject.get("EnableKeyRotation") else "never rotated",
        "while it is there: what it has encrypted can't be read without it",
        "none",
    ),
}


def _logs(material: Material) -> Iterator[Holding]:
    """Group log groups: those of the functions have the same key, retention and fate."""
    alike = grouped(
        ((_key_of(each, "KmsKeyId", "CloudWatch Logs"), each.get("RetentionInDays"), fates(each)), material.name(each))
        for each in material.app.resources("AWS::Logs::LogGroup")
    )
    for (key, days, fate), names in alike.items():
        retention = count(days, "day") if days else "none: everything stays"
        yield Holding(
            several(names, "log groups"),
            "log group" if len(names) == 1 else "log groups",
            key,
            retention,
            "none",
            *fate,
        )
