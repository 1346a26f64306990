"""Rules for data stores: encrypted, private, reached over TLS, and retained in production."""

from collections.abc import Iterator

from settings.rules import production
from stacks.gate.template import Subject, as_list, plain_text, request_of, written

STATEFUL = frozenset(
    {
        "AWS::Glue::Database",
        "AWS::MSK::Cluster",
        "AWS::RDS::DBCluster",
        "AWS::RDS::DBInstance",
        "AWS::S3::Bucket",
        "AWS::SecretsManager::Secret",
    }
)
KEPT = frozenset({"Retain", "Snapshot", "RetainExceptOnCreate"})
_BLOCKED = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
_BUCKET_WAYS_OUT = ("AccelerateConfiguration", "CorsConfiguration", "NotificationConfiguration", "WebsiteConfiguration")


def data_survives(subject: Subject) -> Iterator[str]:
    """In production, data must outlive its stack and its replacement."""
    if not subject.facts.production or not _holds_data(subject):
        return
    for policy in ("DeletionPolicy", "UpdateReplacePolicy"):
        if subject.resource.get(policy) not in KEPT:
            yield f"{policy} is {subject.resource.get(policy, 'Delete')}: production keeps its data"


def _holds_data(subject: Subject) -> bool:
    if subject.type == "AWS::SecretsManager::Secret":
        return _belongs_to_data(subject)
    if subject.type == "AWS::KMS::Key":
        # An EKS cluster's key encrypts only what is deleted with the cluster.
        return not any(each.stack == subject.stack for each in subject.app.resources("AWS::EKS::Cluster"))
    return subject.type in STATEFUL or (subject.type == "AWS::Logs::LogGroup" and not _is_a_functions(subject))


def _belongs_to_data(subject: Subject) -> bool:
    """Whether a secret opens a retained database: one in the same stack."""
    return any(each.stack == subject.stack for each in subject.app.resources("AWS::RDS::DBCluster"))


def _is_a_functions(subject: Subject) -> bool:
    """Whether a log group is a function's: CloudFormation's events also have what it logs of a deployment."""
    for function in subject.app.resources("AWS::Lambda::Function"):
        if function.target(function.get("LoggingConfig.LogGroup")) == (subject.stack, subject.id):
            return True
    return False


def database_closed(subject: Subject) -> Iterator[str]:
    """Databases must be private, encrypted and reached over TLS; in production also protected and backed up."""
    match subject.type:
        case "AWS::RDS::DBInstance":
            if subject.get("PubliclyAccessible") is not False:
                yield "is a public database: PubliclyAccessible must be false"
        case "AWS::RDS::DBClusterParameterGroup":
            if str((subject.get("Parameters") or {}).get("rds.force_ssl")) != "1":
                yield "takes connections without TLS: rds.force_ssl must be 1"
        case "AWS::RDS::DBCluster":
            yield from _cluster(subject)


def _cluster(subject: Subject) -> Iterator[str]:
    if subject.get("PubliclyAccessible"):
        yield "is a public database: PubliclyAccessible must be false"
    # A restored cluster inherits encryption; the source preparation refuses an unencrypted one.
    restored = subject.get("SnapshotIdentifier") or subject.get("SourceDBClusterIdentifier")
    if subject.get("StorageEncrypted") is not True and not restored:
        yield "isn't encrypted: StorageEncrypted must be true"
    if subject.facts.production and not _is_protected(subject):
        yield "isn't protected against deletion, by DeletionProtection or by a Custom::ProtectedDatabase that names it"
    days = subject.get("BackupRetentionPeriod")
    if subject.facts.production and not (isinstance(days, int) and days >= production.BACKUP_DAYS):
        yield f"keeps its backups for {days} days: production needs {production.BACKUP_DAYS} or more"


def _is_protected(subject: Subject) -> bool:
    """Protected directly, or by the custom resource that protects it last (stacks/handlers/database_protection.py)."""
    name = written({"Ref": subject.id})
    return subject.get("DeletionProtection") is True or any(
        each.stack == subject.stack and f'"clusterIdentifier":"{name}"' in written(each.get("Request"))
        for each in subject.app.resources("Custom::ProtectedDatabase")
    )


def brokers_closed(subject: Subject) -> Iterator[str]:
    """Kafka must be reachable only inside the VPC, by IAM over TLS."""
    if subject.type != "AWS::MSK::Cluster":
        return
    for way in ("Unauthenticated", "Tls", "Sasl.Scram"):
        if subject.get(f"ClientAuthentication.{way}.Enabled") is not False:
            yield f"lets clients in by {way}: only IAM is judged by roles"
    if subject.get("ClientAuthentication.Sasl.Iam.Enabled") is not True:
        yield "doesn't ask clients who they are: ClientAuthentication.Sasl.Iam.Enabled must be true"
    if subject.get("EncryptionInfo.EncryptionInTransit.ClientBroker") != "TLS":
        yield "takes events in plain text: EncryptionInTransit.ClientBroker must be TLS"
    if subject.get("EncryptionInfo.EncryptionInTransit.InCluster") is False:
        yield "replicates events in plain text: EncryptionInTransit.InCluster must be true"
    public = subject.get("BrokerNodeGroupInfo.ConnectivityInfo.PublicAccess.Type")
    if public not in (None, "DISABLED"):
        yield f"has public brokers: PublicAccess is {written(public)}"
    if subject.get("BrokerNodeGroupInfo.ConnectivityInfo.VpcConnectivity"):
        yield "is open to other VPCs: ConnectivityInfo.VpcConnectivity"


def connectors_by_tls(subject: Subject) -> Iterator[str]:
    """Connectors must use IAM over TLS with Kafka."""
    request = request_of(subject.resource) or {}
    if "kafkaCluster" not in request:
        return
    if request.get("kafkaClusterEncryptionInTransit", {}).get("encryptionType") != "TLS":
        yield "speaks to Kafka in plain text: encryptionType must be TLS"
    if request.get("kafkaClusterClientAuthentication", {}).get("authenticationType") != "IAM":
        yield "doesn't say to Kafka who it is: authenticationType must be IAM"


def cluster_closed(subject: Subject) -> Iterator[str]:
    """EMR's disks must be encrypted, and its nodes may run no bootstrap scripts."""
    if subject.type == "AWS::EMR::Cluster":
        target = subject.target(subject.get("SecurityConfiguration"))
        if target is None:
            yield "has no security configuration of this app: its disks wouldn't be encrypted"
        if subject.get("BootstrapActions"):
            yield "runs scripts on its nodes before anything else (BootstrapActions): nobody has judged them"
        if subject.get("Steps"):
            yield "brings steps of its own: the step handler starts the jobs"
    if subject.type == "AWS::EMR::SecurityConfiguration":
        at_rest = subject.get("SecurityConfiguration.EncryptionConfiguration.EnableAtRestEncryption")
        if at_rest is not True:
            yield "doesn't encrypt the nodes' disks: EnableAtRestEncryption must be true"
        metadata = subject.get("SecurityConfiguration.InstanceMetadataServiceConfiguration")
        if (metadata or {}).get("MinimumInstanceMetadataServiceVersion") != 2:
            yield "lets jobs' requests fetch the nodes' credentials: MinimumInstanceMetadataServiceVersion must be 2"


def buckets_closed(subject: Subject) -> Iterator[str]:
    """Buckets must be private, encrypted and reached over TLS; their objects may go nowhere else."""
    if subject.type != "AWS::S3::Bucket":
        return
    yield from _private_bucket(subject)
    if not subject.get("BucketEncryption.ServerSideEncryptionConfiguration"):
        yield "isn't encrypted: it has no BucketEncryption"
    for key in (*_BUCKET_WAYS_OUT, "ReplicationConfiguration", "InventoryConfigurations"):
        if subject.get(key):
            yield f"{key}: what it holds would go where nobody has looked"
    if subject.get("VersioningConfiguration.Status") != "Enabled":
        yield "loses what is overwritten: VersioningConfiguration must be enabled"
    if not _asks_for_tls(subject):
        yield "takes requests without TLS: no policy denies them"
    yield from _expiry(subject)


def _private_bucket(subject: Subject) -> Iterator[str]:
    for key in _BLOCKED:
        if subject.get(f"PublicAccessBlockConfiguration.{key}") is not True:
            yield f"could be made public: {key} must be true"
    if subject.get("AccessControl") not in (None, "Private"):
        yield f"has the access control list {subject.get('AccessControl')}: policies decide"
    owners = [rule.get("ObjectOwnership") for rule in as_list(subject.get("OwnershipControls.Rules") or [])]
    if owners != ["BucketOwnerEnforced"]:
        yield "may hold others' objects: ObjectOwnership must be BucketOwnerEnforced"


def _asks_for_tls(subject: Subject) -> bool:
    for policy in subject.app.resources("AWS::S3::BucketPolicy"):
        if policy.target(policy.get("Bucket")) != (subject.stack, subject.id):
            continue
        for statement in as_list(policy.get("PolicyDocument.Statement") or []):
            condition = (statement.get("Condition") or {}).get("Bool", {})
            if statement.get("Effect") == "Deny" and condition.get("aws:SecureTransport") == "false":
                return True
    return False


def _expiry(subject: Subject) -> Iterator[str]:
    """Tables must not expire: Hudi's cleaner removes unneeded files."""
    name = plain_text(subject.get("BucketName"))
    for rule in as_list(subject.get("LifecycleConfiguration.Rules") or []):
        if "-lake-lake-" in name and ({"ExpirationInDays", "ExpirationDate"} & rule.keys()):
            yield f"the lifecycle rule {rule.get('Id')} deletes the tables' files"


def logs_kept(subject: Subject) -> Iterator[str]:
    """Logs must expire, but in production only after people had time to read them."""
    if subject.type == "AWS::EC2::VPC":
        flow_logs = subject.app.resources("AWS::EC2::FlowLog")
        if not any(log.target(log.get("ResourceId")) == (subject.stack, subject.id) for log in flow_logs):
            yield "has no flow log: nobody could tell later who has reached what"
    if subject.type != "AWS::Logs::LogGroup":
        return
    days = subject.get("RetentionInDays")
    if not isinstance(days, int):
        yield "keeps its events for ever: set RetentionInDays"
    elif subject.facts.production and days < production.LOG_DAYS:
        yield f"keeps its events for {days} days: production needs {production.LOG_DAYS} or more"


def keys_rotate(subject: Subject) -> Iterator[str]:
    """AWS must rotate our keys every year."""
    if subject.type == "AWS::KMS::Key" and subject.get("EnableKeyRotation") is not True:
        yield "isn't rotated: EnableKeyRotation must be true"


def disks_encrypted(subject: Subject) -> Iterator[str]:
    """Every disk of an instance must be encrypted."""
    if subject.type != "AWS::EC2::Instance":
        return
    disks = [each.get("Ebs", {}) for each in subject.properties.get("BlockDeviceMappings", [])]
    if not disks or not all(disk.get("Encrypted") is True for disk in disks):
        yield "has a disk that isn't encrypted"


def alarms_go_to_people(subject: Subject) -> Iterator[str]:
    """Alarms may go out only by mail; a web address would receive the names of all resources."""
    if subject.type == "AWS::SNS::Subscription" and subject.get("Protocol") != "email":
        yield f"sends alarms by {written(subject.get('Protocol'))}: only e-mail has been judged"


def budgets_tell_the_alarms_topic(subject: Subject) -> Iterator[str]:
    """Budgets may notify only the alarms topic."""
    if subject.type != "AWS::Budgets::Budget":
        return
    told = subject.get("NotificationsWithSubscribers") or []
    if not told:
        yield "tells nobody when a month costs too much: it has no NotificationsWithSubscribers"
    for address in (each["Address"] for notification in told for each in notification["Subscribers"]):
        target = subject.target(address)
        if target is None or subject.app.templates[target[0]]["Resources"][target[1]]["Type"] != "AWS::SNS::Topic":
            yield f"tells {written(address)} what is spent: only a topic of this app has been judged"
