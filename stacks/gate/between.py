"""Rules for what one property can't say: relations between resources, and what outlives its stack."""

from collections.abc import Iterator

from settings.rules import production
from stacks.gate.data import DATA, POLICIES
from stacks.gate.template import Subject, as_list, plain_text, written

# The only images: those that AWS publishes for Amazon Linux.
_IMAGES = "/aws/service/ami-amazon-linux-latest/"
# Days until objects expire, by a lifecycle rule's id: the setting that says so. Requests' records need a day.
_EXPIRY = {"landed": "landing_expiry_days", "logs": "log_expiry_days"}
_REQUESTS_DAYS = 1


def data_survives(subject: Subject) -> Iterator[str]:
    """In production, data must outlive its stack and its replacement."""
    if not subject.facts.production or not _holds_data(subject):
        return
    for policy in ("DeletionPolicy", "UpdateReplacePolicy"):
        if subject.resource.get(policy) not in POLICIES[1:]:
            yield f"{policy} is {subject.resource.get(policy, 'Delete')}: production keeps its data"


def _holds_data(subject: Subject) -> bool:
    if subject.type == "AWS::SecretsManager::Secret":
        # One that opens a retained database: in the same stack.
        return any(each.stack == subject.stack for each in subject.app.resources("AWS::RDS::DBCluster"))
    if subject.type == "AWS::KMS::Key":
        # An EKS cluster's key encrypts only what is deleted with the cluster.
        return not any(each.stack == subject.stack for each in subject.app.resources("AWS::EKS::Cluster"))
    if subject.type == "AWS::Logs::LogGroup":
        return not _is_a_functions(subject)
    return subject.type in DATA and DATA[subject.type].kept


def _is_a_functions(subject: Subject) -> bool:
    """Whether a log group is a function's: CloudFormation's events also have what it logs of a deployment."""
    for function in subject.app.resources("AWS::Lambda::Function"):
        if function.target(function.get("LoggingConfig.LogGroup")) == (subject.stack, subject.id):
            return True
    return False


def database_kept(subject: Subject) -> Iterator[str]:
    """A database must be encrypted, unless its snapshot decides; in production, it must be protected."""
    if subject.type != "AWS::RDS::DBCluster":
        return
    # A restored cluster inherits encryption; the source preparation refuses an unencrypted one.
    restored = subject.get("SnapshotIdentifier") or subject.get("SourceDBClusterIdentifier")
    if subject.get("StorageEncrypted") is not True and not restored:
        yield "isn't encrypted: StorageEncrypted must be true"
    if subject.facts.production and not _is_protected(subject):
        yield "isn't protected against deletion, by DeletionProtection or by a Custom::ProtectedDatabase that names it"


def _is_protected(subject: Subject) -> bool:
    """Protected directly, or by the custom resource that protects it last (stacks/handlers/database_protection.py)."""
    name = written({"Ref": subject.id})
    return subject.get("DeletionProtection") is True or any(
        each.stack == subject.stack and f'"clusterIdentifier":"{name}"' in written(each.get("Request"))
        for each in subject.app.resources("Custom::ProtectedDatabase")
    )


def buckets_by_tls(subject: Subject) -> Iterator[str]:
    """Buckets must deny requests without TLS, of everyone, to all that they hold."""
    if subject.type == "AWS::S3::Bucket" and not any(
        policy.target(policy.get("Bucket")) == (subject.stack, subject.id) and _denies_plain(subject, policy)
        for policy in subject.app.resources("AWS::S3::BucketPolicy")
    ):
        yield "takes requests without TLS: no policy denies all of them"


def _denies_plain(bucket: Subject, policy: Subject) -> bool:
    arn = f"<{bucket.id}.Arn>"
    for statement in as_list(policy.get("PolicyDocument.Statement") or []):
        principal = statement.get("Principal")
        if (
            statement.get("Effect") == "Deny"
            and statement.get("Action") == "s3:*"
            and principal in ("*", {"AWS": "*"})
            and statement.get("Condition") == {"Bool": {"aws:SecureTransport": "false"}}
            and {arn, f"{arn}/*"} <= {written(each) for each in as_list(statement.get("Resource"))}
        ):
            return True
    return False


def expires_as_set(subject: Subject) -> Iterator[str]:
    """Objects expire as the settings say; tables never do, since Hudi's cleaner removes unneeded files."""
    if subject.type != "AWS::S3::Bucket":
        return
    settings = subject.facts.settings
    old = settings.lake.noncurrent_version_expiry_days
    for rule in as_list(subject.get("LifecycleConfiguration.Rules") or []):
        id_, days = str(rule.get("Id")), rule.get("ExpirationInDays")
        if id_ == "leftovers" and (rule.get("NoncurrentVersionExpiration") or {}).get("NoncurrentDays") != old:
            yield f"the lifecycle rule {id_} must keep old versions for {old} days, as the settings say"
        if days is None:
            continue
        if plain_text(subject.get("BucketName")) == settings.bucket_name("lake"):
            yield f"the lifecycle rule {id_} deletes the tables' files"
            continue
        wanted = {"requests": _REQUESTS_DAYS, "results": settings.analytics.result_expiry_days}.get(id_)
        if wanted is None:
            wanted = getattr(settings.lake, _EXPIRY.get(id_.partition("-")[0], ""), None)
        if days != wanted:
            yield f"the lifecycle rule {id_} deletes after {days} days: the settings say {wanted}"


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


def worn_once(subject: Subject) -> Iterator[str]:
    """Each function must have a role of its own: with another's it would have that one's rights."""
    if subject.type != "AWS::Lambda::Function":
        return
    role = subject.target(subject.get("Role"))
    for other in subject.app.resources("AWS::Lambda::Function"):
        if (other.stack, other.id) != (subject.stack, subject.id) and other.target(other.get("Role")) == role:
            yield f"has the role of {other.id}: it must have one of its own"


def images_of_amazon(subject: Subject) -> Iterator[str]:
    """Instances must run the newest Amazon Linux, by AWS's own parameter."""
    if subject.type != "AWS::EC2::Instance":
        return
    match subject.get("ImageId"):
        case {"Ref": str(name)}:
            parameters = subject.app.templates[subject.stack].get("Parameters", {})
            default = str(parameters.get(name, {}).get("Default"))
        case value:
            default = written(value)
    if not default.startswith(_IMAGES):
        yield f"runs the image {default}: it must be one of AWS's, by a parameter under {_IMAGES}"
